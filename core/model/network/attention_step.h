// The attention sublayer of a step, and how a policy's choice changes what it computes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/kernels/attention/attention.h"
#include "core/kernels/attention/step_attention.h"
#include "core/kernels/attention_map/attention_map.h"
#include "core/model/network/disentangled.h"
#include "core/model/network/layer_policy.h"
#include "core/model/network/network.h"

namespace reprise::model {

class AttentionStep {
 public:
  explicit AttentionStep(Network& network);

  // Prepares what all layers of the step share, such as rotary angles, and forgets kept maps.
  void begin(const StepInput& step);
  // Sets buffers.attended [rows, q] to the attention of buffers.normed, computed as `choice` says.
  // Writes the step's keys and values to the cache, or only the values if `choice` computes no
  // keys.
  void attend(int64_t layer, const StepInput& step, const LayerChoice& choice);
  // Writes the layer's keys and values to the cache and computes no attention.
  void fill_cache(int64_t layer, const StepInput& step, const LayerChoice& choice);
  // Adds the output projection of the first `rows` attended rows to buffers.residual.
  void project_out(int64_t layer, int64_t rows);
  // See StepAttention::append_key().
  void append_key(WorkKey& key) const { step_->append_key(key); }

 private:
  void project_qkv(int64_t layer, const StepInput& step);
  void project_values(int64_t layer, const StepInput& step);
  // Like project_qkv(), but computes queries, keys and values separately, for policies that split
  // attention. In buffers.qkv the queries of all rows come first, then all keys, then all values.
  void project_apart(int64_t layer, const StepInput& step);
  // Returns the rotation of `heads` heads of each row. Row 0 of `data` is row `first` of the step.
  kernels::RotaryCall rotary_of(float* data, int64_t heads, int64_t row_stride, int64_t rows,
                                int64_t first = 0);
  void rotate(float* data, int64_t heads, int64_t row_stride, int64_t rows, int64_t first = 0);
  [[nodiscard]] bool splits(const StepInput& step) const;
  // Computes attention with an explicit attention map, for scores with a bias and for maps that are
  // kept or shown.
  void attend_by_map(int64_t layer, const StepInput& step, const LayerChoice& choice);
  void show(int64_t layer, const StepInput& step, kernels::MapView map);
  void apply(int64_t layer, const StepInput& step, std::span<const kernels::RowMap> maps);
  // attend() for a step in which some rows have maps and the others compute theirs. Each run of
  // neighbouring rows of one kind is computed by itself, so rows with maps save as much as in a
  // step of their own.
  void attend_mixed(int64_t layer, const StepInput& step, std::span<const kernels::RowMap> maps);
  // attend_mixed() calls compute_rows() for a run of rows without maps, which are rows `first`,
  // `first` + 1, ... of the step, and reuse_rows() for the rows of one map. `plan` has only the
  // rows of the run.
  void compute_rows(int64_t layer, int32_t first, const kv::AttentionPlan& plan);
  void reuse_rows(int64_t layer, const kernels::RowMap& map, const kv::AttentionPlan& plan);
  // Row `first` of buffers.normed, attention's input, and of buffers.attended, its output.
  [[nodiscard]] const void* normed_row(int64_t first) const;
  [[nodiscard]] kernels::OutputView attended_from(int64_t first);
  void prepare_angles(const kv::AttentionPlan& plan);
  const std::vector<float>& frequencies_for(int64_t length);
  void clip(float* data, int64_t rows, int64_t cols) const;
  [[nodiscard]] kernels::QueryView queries() const;
  [[nodiscard]] Disentangled::Qkv projected() const;
  [[nodiscard]] int64_t qkv_dim() const;

  Network& network_;
  std::vector<float> slopes_;
  kernels::AttentionParams params_;
  std::vector<float> frequencies_;
  int64_t frequencies_length_ = -1;
  std::unique_ptr<kernels::StepAttention> step_;  // attention by the step's plan, for all layers
  Buffer map_, biases_;                           // [heads, rows, keys] f32
  kernels::AttentionWorkspace workspace_;         // scratch memory of compute_rows()
  std::vector<float> shown_;                      // a map copied from a device to the host
  std::unique_ptr<Disentangled> relative_;        // null: scores have no relative positions
  // True if buffers.qkv has the layout of project_apart()
  bool is_apart_ = false;
  // The map that a layer of this step kept last. Has no rows if no layer kept one, or if its memory
  // has been used for another map since.
  kernels::RowMap kept_;
};

}  // namespace reprise::model
