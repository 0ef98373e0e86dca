// Turns a SequenceCache into a Method, for methods that consist of nothing else.
#pragma once

#include <concepts>
#include <memory>
#include <utility>

#include "methods/method.h"

namespace reprise::methods {

// A method whose only part is a `Cache`. It is made by Cache(const Options&) or, if there is no
// such constructor, by Cache(). Options::check_device(Device), if there is one, throws Error if the
// options do not run on a device.
template <std::derived_from<reuse::SequenceCache> Cache, reuse::Options Options>
class CacheMethod final : public Method {
 public:
  CacheMethod(MethodInfo info, const Options& options)
      : info_(std::move(info)), options_(options) {}
  [[nodiscard]] const MethodInfo& info() const override { return info_; }
  void check(const Use& use) const override {
    if constexpr (requires { options_.check_device(use.device); })
      options_.check_device(use.device);
  }
  [[nodiscard]] Parts parts() override {
    Parts parts;
    if constexpr (std::constructible_from<Cache, const Options&>)
      parts.cache = std::make_unique<Cache>(options_);
    else
      parts.cache = std::make_unique<Cache>();
    return parts;
  }

 private:
  MethodInfo info_;
  Options options_;
};

// Makes the MethodEntry of a CacheMethod.
template <std::derived_from<reuse::SequenceCache> Cache, reuse::Options Options = reuse::NoOptions>
MethodEntry cache_method(MethodInfo info) {
  info.is_cache = true;
  info.cannot_prefill =
      "it decides where keys and values lie, and prompts that nothing is generated behind keep "
      "none";
  return method_entry<Options>(std::move(info), [](MethodInfo of, const Options& options) {
    return std::make_unique<CacheMethod<Cache, Options>>(std::move(of), options);
  });
}

}  // namespace reprise::methods
