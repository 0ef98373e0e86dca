// A block of a network: attention and MLP, joined as the config says, each computed or skipped as a
// policy chooses.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/model/network/attention_step.h"
#include "core/model/network/mlp.h"

namespace reprise::model {

class Block {
 public:
  explicit Block(Network& network)
      : network_(network), attention_(network), mlp_(make_mlp(network)) {}

  // Allocates buffers for steps of `rows` rows.
  void prepare(int64_t rows) { mlp_->prepare(rows); }
  // Number of experts used since prepare(), see Mlp::touched_experts().
  [[nodiscard]] int64_t touched_experts() const { return mlp_->touched_experts(); }
  // Called before the first block of a step.
  void begin(const StepInput& step) { attention_.begin(step); }
  // Appends everything that the kernel launches of the current step depend on: see StepAttention
  // and Mlp.
  void append_key(WorkKey& key) const {
    attention_.append_key(key);
    mlp_->append_key(key);
  }
  // Sets buffers.residual [rows, hidden] to the block's output. With `kept` (row indices,
  // ascending), computes only those rows and moves them to the front. If `kept` is empty, only
  // fills the cache, unless the policy asked to be shown the layer's map.
  void run(int64_t layer, const StepInput& step, const std::span<const int32_t>* kept);

 private:
  class Input;
  void run_chosen(Input& input, const LayerChoice& choice, const std::span<const int32_t>* kept);
  void keep_rows(std::span<const int32_t> kept, bool has_attention);
  void norm_attended(int64_t layer, int64_t rows);
  void add_mlp(int64_t layer, int64_t rows);
  void tell(const StepInput& step, int64_t layer, BlockPoint point, int64_t rows);
  // For post-norm blocks: normalizes buffers.residual. Writes the result back in f32, and to
  // buffers.normed.
  void norm_residual(const LoadedPart& norm, int64_t rows);

  Network& network_;
  AttentionStep attention_;
  std::unique_ptr<Mlp> mlp_;
};

}  // namespace reprise::model
