// AttnCache (Song et al., 2025): a prompt whose feature vector is close to that of a stored one is
// computed with the stored one's attention maps.
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

// What the lookups of the steps so far came to. A lookup is of one prompt, in the first layer of a
// group of layers.
struct AttnCacheCounts {
  int64_t prompts = 0;          // whole ones, in steps
  int64_t partial_prompts = 0;  // chunks and the like, which never reuse
  int64_t lookups = 0;
  int64_t hits = 0;  // lookups that found maps to reuse
  // Lookups that did not, by the first reason that held.
  int64_t empty = 0;         // there is no vector of the layer or length
  int64_t other_layer = 0;   // the nearest vector is of another layer
  int64_t other_length = 0;  // the nearest prompt's maps do not fit
  int64_t below_threshold = 0;
  // Of the hits, those whose maps were not used since another prompt of the step had none: a layer
  // computes for all rows of a step, or for none.
  int64_t unused_hits = 0;
  int64_t reused_layers = 0;  // (prompt, layer) pairs computed with stored maps
  int64_t loaded_bytes = 0;   // of their maps
};

// Where choosing took its time, by layer, in nanoseconds of the engine's clock. What attention and
// feed-forward took, model::LayerTimes tells.
struct AttnCacheTimes {
  int64_t embedding_ns = 0;  // pooling and projector
  int64_t searching_ns = 0;
  // Checking maps, which the first time reads them from the disk and sums them up.
  int64_t loading_ns = 0;
};

// [AttnCache algorithms 1 and 2]. For one step at a time. Stored maps are read where they lie.
class AttnCachePolicy final : public model::LayerPolicy {
 public:
  // Throws Error where the options ask for what the database does not have: groups of layers whose
  // first layers are not in its index, cropped maps of a model that is not causal.
  AttnCachePolicy(std::shared_ptr<Database> database, AttnCacheOptions options,
                  const ModelFacts& model, const Context& context,
                  std::function<int64_t()> clock_ns = {});

  model::LayerChoice choose(model::LayerInput& input) override;
  [[nodiscard]] bool is_of_prefill_alone() const override { return true; }
  // Where another policy of a chain decides the first layer of a group without this one having been
  // asked, the group has no lookup and its other layers compute.
  void overruled(int64_t layer) override;

  [[nodiscard]] const AttnCacheCounts& counts() const { return counts_; }
  [[nodiscard]] const std::vector<AttnCacheTimes>& times() const { return times_; }  // [layers]
  // How often each stored prompt was reused: what eviction goes by. [groups]
  [[nodiscard]] const std::vector<int64_t>& uses() const { return uses_; }
  // Of the latest lookup, for each prompt of the step: the similarity of its nearest stored prompt,
  // also where that was not reused; -infinity where there was none that fits.
  [[nodiscard]] std::span<const double> similarities() const { return similarities_; }
  // Sets counts and times to nothing; uses stay.
  void reset();

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
  [[nodiscard]] bool fits(int64_t group, const StepPrompt& prompt) const;
  model::LayerChoice reuse(int64_t layer);
  void add_map(const StepPrompt& prompt, const StoredMap& map);
  [[nodiscard]] bool begins_group(int64_t layer) const;

  std::shared_ptr<Database> database_;
  AttnCacheOptions options_;
  int64_t layers_;
  Context context_;
  std::function<int64_t()> clock_ns_;

  // Of the step under way.
  bool has_begun_ = false;
  int64_t asked_ = kNone;  // the layer that choose() was last called for
  std::vector<StepPrompt> prompts_;
  bool has_partial_ = false;
  std::vector<int64_t> found_;  // for each prompt, the stored one of this group of layers, or kNone
  bool reuses_ = false;         // whether all prompts have one
  std::vector<double> similarities_;
  std::vector<float> features_;
  std::vector<Neighbour> nearest_;
  std::vector<kernels::RowMap> maps_;
  std::vector<kernels::SparseRowMap> sparse_maps_;

  AttnCacheCounts counts_;
  std::vector<AttnCacheTimes> times_;
  std::vector<int64_t> uses_;
};

}  // namespace reprise::attn_cache
