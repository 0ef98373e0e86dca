// AttnCache as a method of kinds: it stores the point's database prompts, and learns from its
// training prompts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "experiments/kinds/sentences/prefill_method.h"
#include "methods/attn_cache/options.h"

namespace reprise::experiments {

inline constexpr const char* kAttnCache = "attn_cache";

// AttnCache's options, and how an experiment makes what they need.
struct AttnCacheMethodOptions : attn_cache::AttnCacheOptions {
  // Where the projector's weights come from: "trained" by libtorch on training prompts, "random";
  // a file of Projector::save() where `projector_file` names one.
  std::string projector_from = "trained";
  std::string projector_file;  // not visited: any text
  // "warm": maps that an earlier turn has used are in this process' memory and checked; "cold":
  // each turn maps and checks them anew. The file is in the system's memory either way.
  std::string loading = "warm";
  // Beyond the paper. Above 0, training prompts choose the threshold so that the expected loss,
  // half of 1 less the cosine of a prompt's output with and without reuse, is at most this; see
  // calibrate_threshold().
  double loss_bound = 0.0;
  // A rival's name and its options, which runs beside AttnCache; "": none. Not visited.
  std::string beside;
  Json beside_options = Json::object();

  void visit(reuse::OptionVisitor& visitor);
  void check(const JsonObject& given) const;
  static std::vector<reuse::Preset<AttnCacheMethodOptions>> presets();

  [[nodiscard]] bool begins_cold() const;
  // Whether weights are trained.
  [[nodiscard]] bool trains() const;
  // Whether any prompts are learned from without being stored.
  [[nodiscard]] bool learns() const { return trains() || loss_bound > 0; }
};

// Beside the options that are visited, "projector_file", and "beside": {"method": NAME, options}.
AttnCacheMethodOptions read_attn_cache_options(const JsonObject& given);

[[nodiscard]] OwnMethod attn_cache_method();
std::unique_ptr<PrefillMethod> make_attn_cache_method(const Json& options);
// Why the options cannot be had in this program, with the remedies; "" where they can.
[[nodiscard]] std::string attn_cache_absence(const Json& options);
[[nodiscard]] std::vector<MetricInfo> attn_cache_metrics();

}  // namespace reprise::experiments
