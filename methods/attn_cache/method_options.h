// What can be chosen about method attn_cache: AttnCache's options, and how what they need is made.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/reuse/options.h"
#include "methods/attn_cache/options.h"

namespace reprise::methods {

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
  // A method of layer policies that runs beside AttnCache, and its options; "": none. Not visited.
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

// All options as a record keeps them, and what `reprise list attn_cache` shows.
Json resolve_attn_cache_options(const JsonObject& given);
reuse::OptionList list_attn_cache_options();
// Why the options cannot be had in this program, with the remedies; "" where they can.
[[nodiscard]] std::string attn_cache_absence(const AttnCacheMethodOptions& chosen);

}  // namespace reprise::methods
