// Policies that decide what each layer of a step does: compute, reuse a stored map, or be skipped.
#pragma once

#include <cstdint>
#include <span>

#include "core/device/tensor.h"
#include "core/kernels/attention_map/attention_map.h"
#include "core/model/network/step.h"

namespace reprise::model {

enum class LayerAction : uint8_t {
  kCompute,        // as the model defines it
  kReuseMap,       // attention with given maps: their rows compute values only   [AttnCache]
  kShareMap,       // attention with the map that an earlier layer kept   [LazyFormer, SAN]
  kSkipAttention,  // attention adds nothing; the MLP and the norms stay   [AttnDrop]
  kSkipBlock       // the block returns its input   [BlockDrop]
};

struct LayerChoice {
  LayerAction action = LayerAction::kCompute;
  // For kReuseMap: the maps, in the order of rows, each with all query heads. On a CPU, rows
  // without a map may compute.
  std::span<const kernels::RowMap> maps;
  // For kCompute: keep the map for later layers of the step; show it to the policy. Both need the
  // slower kernels that compute a map as values.
  bool keep_map = false;
  bool show_map = false;
};

// Input of one layer, passed to the policy before it decides what the layer does. Its views are on
// the CPU and valid until the policy has chosen; data of another device is copied when asked for.
class LayerInput {
 public:
  LayerInput(int64_t layer, const StepInput& step) : layer_(layer), step_(step) {}
  virtual ~LayerInput() = default;
  [[nodiscard]] int64_t layer() const { return layer_; }
  [[nodiscard]] const StepInput& step() const { return step_; }
  // The input of attention [rows, hidden], after the block's input norm if there is one, in the
  // model's dtype. Computed only if it is asked for, so a skipped layer can do without.
  [[nodiscard]] virtual TensorView hidden() = 0;
  // The input of the block: [rows, hidden] f32.
  [[nodiscard]] virtual TensorView residual() = 0;

 private:
  int64_t layer_;
  const StepInput& step_;
};

// Points in the computation of a block.
enum class BlockPoint : uint8_t {
  kAttended,  // attention's output, after its projection, has been added
  kDone
};

// Operations of attention that a policy can have computed one after another, to time them.
enum class AttentionPart { kQueries, kKeys, kValues, kRotary, kMap };

// Decides what each layer of a step does, layer by layer. A layer that does not compute leaves no
// keys in the cache (kReuseMap and kShareMap leave values, the skipping actions nothing), so no
// later step may compute that layer over these tokens.
class LayerPolicy {
 public:
  virtual ~LayerPolicy() = default;
  // False if all layers of the coming step compute, so that choose() need not be called; a device
  // may then replay an earlier step.
  [[nodiscard]] virtual bool has_a_say() const { return true; }
  // The choice for the layer of `input`. Its maps must live until the next call. Errors thrown here
  // end the step.
  virtual LayerChoice choose(LayerInput& input) = 0;
  // True if the policy's choices depend on the prompt. Keys that a later step of the same sequence
  // would read may then be missing, so only a prompt's hidden states and its first next token can
  // be computed. [AttnCache §4]
  [[nodiscard]] virtual bool is_of_prefill_alone() const { return false; }
  // Receives a map asked for by show_map: [heads, rows, keys] f32 on the CPU, valid during the
  // call.
  virtual void observe_map(int64_t /*layer*/, const kernels::MapView& /*map*/) {}
  // Called when a layer reaches a point. A layer that skips its attention, and the last layer of a
  // step that only fills the cache, reach kDone only. `residual` [rows, hidden] f32 is the state of
  // the residual stream; in the last layer it has the wanted rows only. It is on the CPU if
  // reads_residual(), else on the model's device.
  [[nodiscard]] virtual bool reads_residual() const { return false; }
  virtual void passed(int64_t /*layer*/, BlockPoint /*point*/, const TensorView& /*residual*/) {}
  // True if attention computes queries, keys and values in three products instead of one, and calls
  // beginning() and computed() around each part. Slower, with the same values; models whose scores
  // have terms of their own ignore it. kMap is called where a map is computed as values.
  [[nodiscard]] virtual bool splits_attention() const { return false; }
  virtual void beginning(int64_t /*layer*/, AttentionPart /*part*/) {}
  virtual void computed(int64_t /*layer*/, AttentionPart /*part*/) {}
  // Called by a PolicyChain if another policy's choice holds for the layer: a map that this policy
  // would have kept or shared then does not exist.
  virtual void overruled(int64_t /*layer*/) {}
};

// Additional terms of a model's scores, besides q k^T and ALiBi.
class ScoreBias {
 public:
  // Queries, keys and values of the step's rows, after clipping and rotation. The heads of a row
  // follow one another.
  struct Qkv {
    const float* q = nullptr;
    const float* k = nullptr;
    const float* v = nullptr;
    int64_t row_stride = 0;
  };
  virtual ~ScoreBias() = default;
  // Writes biases [heads, rows, keys] f32, which are added to the scaled scores; keys =
  // most_keys(step.plan), numbered as in kernels::attention_map().
  virtual void fill(int64_t layer, const StepInput& step, const Qkv& qkv,
                    std::span<float> biases) = 0;
};

}  // namespace reprise::model
