// One block of a network: attention and MLP, joined as the config says, as far as a policy lets it.
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

  // Makes room for steps of `rows`.
  void prepare(int64_t rows) { mlp_->prepare(rows); }
  // Since prepare(), see Mlp.
  [[nodiscard]] int64_t touched_experts() const { return mlp_->touched_experts(); }
  // Before the first block of a step.
  void begin(const StepInput& step) { attention_.begin(step); }
  // Of the step that began, see StepAttention; and where buffers are.
  void append_key(WorkKey& key) const {
    attention_.append_key(key);
    mlp_->append_key(key);
  }
  // buffers.residual [rows, hidden] = the block's output. With `kept` (ascending), only these rows
  // are wanted, and stand first afterwards; with none of them, only the cache is filled.
  void run(int64_t layer, const StepInput& step, const std::span<const int32_t>* kept);

 private:
  class Input;
  void run_chosen(Input& input, const LayerChoice& choice, const std::span<const int32_t>* kept);
  void keep_rows(std::span<const int32_t> kept, bool has_attention);
  void norm_attended(int64_t layer, int64_t rows);
  void add_mlp(int64_t layer, int64_t rows);
  void tell(const StepInput& step, int64_t layer, BlockPoint point, int64_t rows);
  // Post-norm blocks: the residual becomes its norm, in f32 and as the next sublayer reads it.
  void norm_residual(const LoadedPart& norm, int64_t rows);

  Network& network_;
  AttentionStep attention_;
  std::unique_ptr<Mlp> mlp_;
};

}  // namespace reprise::model
