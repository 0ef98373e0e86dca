// Options of method attn_cache: AttnCache's own, and how its projector and threshold are made.
#pragma once

#include <string>
#include <vector>

#include "core/reuse/options.h"
#include "methods/attn_cache/options.h"

namespace reprise::methods {

struct AttnCacheMethodOptions : attn_cache::AttnCacheOptions {
  // Source of the projector's weights: "trained" by libtorch on training prompts, or "random". If
  // `projector_file` is set, weights are read from that file, which Projector::save() wrote.
  std::string projector_from = "trained";
  std::string projector_file;  // not in visit(): read and listed separately
  // "warm": maps used in an earlier turn are mapped and checked already. "cold": each turn maps and
  // checks them again. The file is in the system's page cache in both cases.
  std::string loading = "warm";
  // Size in MB of the part of a hybrid store that stays in memory [AttnCache §5.4]: the maps of the
  // texts stored first. Each turn begins with all other maps only on the disk. 0: the system's page
  // cache decides.
  double memory_mb = 0.0;
  // Beyond the paper. If above 0, the threshold is calibrated on training prompts so that the
  // expected loss of a prompt is at most this value. The loss of a prompt is (1 - cosine of its
  // outputs with and without reuse) / 2; see calibrate_threshold(). With `beside`, outputs without
  // reuse are those of the other method alone.
  double loss_bound = 0.0;
  // A layer-policy method that runs beside AttnCache, and its options; "": none. Not in visit().
  std::string beside;
  Fields beside_options;

  void visit(reuse::OptionVisitor& visitor);
  void check(const JsonObject& given) const;
  static std::vector<reuse::Preset<AttnCacheMethodOptions>> presets();

  [[nodiscard]] bool begins_cold() const;
  // True if the projector's weights are trained.
  [[nodiscard]] bool trains() const;
  // True if training the projector or calibrating the threshold needs prompts other than the stored
  // ones.
  [[nodiscard]] bool learns() const { return trains() || loss_bound > 0; }
};

// Reads the visited options, and also "projector_file" and "beside": {"method": NAME, options}.
AttnCacheMethodOptions read_attn_cache_options(const JsonObject& given);

// resolve_attn_cache_options(): all options, as a record keeps them. list_attn_cache_options(): the
// list that `reprise list attn_cache` shows.
Fields resolve_attn_cache_options(const JsonObject& given);
reuse::OptionList list_attn_cache_options();
// The reasons why this program cannot run with the options, with the remedies; "" if it can.
[[nodiscard]] std::string attn_cache_absence(const AttnCacheMethodOptions& chosen);

}  // namespace reprise::methods
