// Turns a layer policy into a Method, for methods that consist of nothing else. The policy is made
// in prepare(), because it depends on the model.
#pragma once

#include <memory>
#include <utility>

#include "methods/method.h"

namespace reprise::methods {

struct MadePolicy {
  std::shared_ptr<model::LayerPolicy> policy;
  Fields chosen;  // settings for the record, such as the chosen layers
};

// Makes the policy for a model. Throws Error if the setup lacks what the policy needs.
template <reuse::Options Options>
using MakePolicy = MadePolicy (*)(const MethodInfo& info, const Options& options,
                                  const Setup& setup);

template <reuse::Options Options>
class PolicyMethod final : public Method {
 public:
  PolicyMethod(MethodInfo info, const Options& options, MakePolicy<Options> make)
      : info_(std::move(info)), options_(options), make_(make) {}
  [[nodiscard]] const MethodInfo& info() const override { return info_; }
  void prepare(const Setup& setup) override { made_ = make_(info_, options_, setup); }
  [[nodiscard]] Parts parts() override { return {.policy = made_.policy}; }
  void report(ReportSink& sink) const override {
    for (const auto& [name, value] : made_.chosen) sink.setting(name, value);
  }

 private:
  MethodInfo info_;
  Options options_;
  MakePolicy<Options> make_;
  MadePolicy made_;
};

// Makes the MethodEntry of a PolicyMethod.
template <reuse::Options Options>
MethodEntry policy_method(MethodInfo info, MakePolicy<Options> make) {
  info.is_policy = true;
  return method_entry<Options>(std::move(info), [make](MethodInfo of, const Options& options) {
    return std::make_unique<PolicyMethod<Options>>(std::move(of), options, make);
  });
}

}  // namespace reprise::methods
