// AttnCache (Song et al., 2025) stores the attention maps of prompts. A new prompt reuses the maps
// of a stored prompt if the feature vectors of the two prompts are close.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/device/context.h"
#include "core/model/network/layer_policy.h"
#include "methods/attn_cache/database.h"
#include "methods/attn_cache/options.h"
#include "methods/attn_cache/step_prompts.h"

namespace reprise::attn_cache {

// Counts of the lookups of all steps so far. A lookup is for one prompt, in the first layer of a
// group of layers.
struct AttnCacheCounts {
  int64_t prompts = 0;          // whole prompts
  int64_t partial_prompts = 0;  // parts of prompts, e.g. chunks; a step with one reuses no maps
  int64_t lookups = 0;
  int64_t hits = 0;  // lookups that found maps to reuse
  // Lookups that found no maps to reuse, by the first reason that applied.
  int64_t empty = 0;        // nothing is stored
  int64_t other_layer = 0;  // the nearest stored vector belongs to another layer
  int64_t no_length = 0;    // lengths must agree, and no stored prompt is as long as the prompt
  // Lengths must agree, and the nearest stored prompt has another length than the looked-up prompt,
  // though another stored prompt has the same length.
  int64_t other_length = 0;
  int64_t below_threshold = 0;
  // Hits whose maps were not used because another prompt of the same step had no hit. On a device,
  // and in models whose scores have relative-position terms, a layer reuses maps for all prompts of
  // a step or for none.
  int64_t unused_hits = 0;
  int64_t fitted_hits = 0;    // hits whose maps were fitted to another length
  int64_t reused_layers = 0;  // (prompt, layer) pairs computed with stored maps
  int64_t loaded_bytes = 0;   // bytes of the stored maps of reused_layers
};

// Times that AttnCachePolicy::choose() takes in one layer, in nanoseconds of the engine's clock.
// model::LayerTimes has the times of attention and feed-forward.
struct AttnCacheTimes {
  int64_t embedding_ns = 0;  // pooling and projector
  int64_t searching_ns = 0;
  // Checking and fitting stored maps. The first check of a map reads the map from the disk and
  // hashes it.
  int64_t loading_ns = 0;
};

// The layer policy of AttnCache [algorithms 1 and 2]. It serves one step at a time and reads stored
// maps in place.
class AttnCachePolicy final : public model::LayerPolicy {
 public:
  // Throws Error if the database's index has vectors, but none of some layer at which a group of
  // layers (AttnCacheOptions::layer_group) begins.
  AttnCachePolicy(std::shared_ptr<Database> database, AttnCacheOptions options,
                  const ModelFacts& model, const Context& context,
                  std::function<int64_t()> clock_ns = {});

  model::LayerChoice choose(model::LayerInput& input) override;
  [[nodiscard]] bool is_of_prefill_alone() const override { return true; }
  // If another policy of a chain decides the first layer of a group before this policy is asked,
  // the group has no lookup and its other layers compute.
  void overruled(int64_t layer) override;

  [[nodiscard]] const AttnCacheCounts& counts() const { return counts_; }
  [[nodiscard]] const std::vector<AttnCacheTimes>& times() const { return times_; }  // [layers]
  // The similarity of each prompt of the step to its nearest stored prompt in the latest lookup,
  // [prompts], even if that prompt's maps were not reused. -infinity if no stored prompt fits.
  // Empty before the first step in which choose() was called.
  [[nodiscard]] std::span<const double> similarities() const { return similarities_; }
  void reset();  // sets counts and times to zero

 private:
  static constexpr int64_t kNone = -1;

  void begin_step(const kv::AttentionPlan& plan);
  void look_up(model::LayerInput& input);
  void embed(int64_t layer, const TensorView& hidden);
  void search(int64_t layer);
  void begin_loading(int64_t layer);
  // The nearest stored prompt whose maps may be reused, or kNone.
  int64_t judge(int64_t layer, const StepPrompt& prompt, const VectorIndex* index,
                const Neighbour& nearest, double& similarity);
  int64_t miss_by_length(const StepPrompt& prompt);
  model::LayerChoice reuse(int64_t layer);
  // Returns the stored map if it has the prompt's length. Otherwise fits the map to the prompt's
  // length, writes the result to `fitted` and returns a view of `fitted`.
  kernels::MapView map_for(const StepPrompt& prompt, int64_t group, int64_t layer,
                           std::vector<float>& fitted) const;
  [[nodiscard]] bool begins_group(int64_t layer) const;

  std::shared_ptr<Database> database_;
  AttnCacheOptions options_;
  int64_t layers_;
  bool is_causal_;
  bool can_mix_;                  // in one step, some prompts may reuse maps while others compute
  std::vector<int64_t> lengths_;  // lengths of stored prompts in tokens, ascending
  Context context_;
  std::function<int64_t()> clock_ns_;

  // The members below belong to the current step.
  bool has_begun_ = false;
  int64_t asked_ = kNone;  // the layer that choose() was last called for
  std::vector<StepPrompt> prompts_;
  bool has_partial_ = false;
  std::vector<int64_t> found_;  // [prompts]  stored prompt for this group of layers, or kNone
  bool reuses_ = false;         // prompts that have a stored prompt in found_ reuse its maps
  std::vector<double> similarities_;
  std::vector<float> features_;
  std::vector<Neighbour> nearest_;
  std::vector<kernels::RowMap> maps_;
  std::vector<std::vector<float>> fitted_;  // [prompts]  fitted maps

  AttnCacheCounts counts_;
  std::vector<AttnCacheTimes> times_;
};

}  // namespace reprise::attn_cache
