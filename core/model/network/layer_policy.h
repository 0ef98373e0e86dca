// What a layer does in a step, decided from outside: compute, reuse a stored map, or be left out.
#pragma once

#include <cstdint>
#include <span>

#include "core/device/tensor.h"
#include "core/kernels/attention_map/attention_map.h"
#include "core/kernels/attention_map/sparse_map.h"
#include "core/model/network/step.h"

namespace reprise::model {

enum class LayerAction : uint8_t {
  kCompute,        // as the model defines it
  kReuseMap,       // values with given maps: no queries, keys, rotation, scores or softmax
                   //                                                                  [AttnCache]
  kShareMap,       // the same with the map that an earlier layer of this step kept
                   //                                                            [LazyFormer, SAN]
  kSkipAttention,  // attention adds nothing; the MLP and the norms stay                [AttnDrop]
  kSkipBlock       // rows pass as they are                                            [BlockDrop]
};

struct LayerChoice {
  LayerAction action = LayerAction::kCompute;
  // kReuseMap, one of the two: they cover the step's rows once, in order; a map's heads are the
  // query heads.
  std::span<const kernels::RowMap> maps;
  std::span<const kernels::SparseRowMap> sparse_maps;
  // kCompute: keep the map for later layers of the step, show it to the policy. Either takes the
  // slow path that computes a map as values.
  bool keep_map = false;
  bool show_map = false;
};

// A layer before it has chosen.
class LayerInput {
 public:
  LayerInput(int64_t layer, const StepInput& step) : layer_(layer), step_(step) {}
  virtual ~LayerInput() = default;
  [[nodiscard]] int64_t layer() const { return layer_; }
  [[nodiscard]] const StepInput& step() const { return step_; }
  // Both are on the CPU, valid until the layer has chosen: what another device computes is copied
  // when asked for.
  //
  // What attention will read: [rows, hidden], after the input norm of blocks that have one, in the
  // model's dtype. Computed when asked for; a layer that is skipped need not.
  [[nodiscard]] virtual TensorView hidden() = 0;
  // What enters the block: [rows, hidden] f32.
  [[nodiscard]] virtual TensorView residual() = 0;

 private:
  int64_t layer_;
  const StepInput& step_;
};

// How far a block has come.
enum class BlockPoint : uint8_t {
  kAttended,  // attention has added what it adds, its output projection included
  kDone
};

// Decides each layer of a step, in their order. A layer that does not compute leaves no keys in the
// cache (kReuseMap and kShareMap leave values, the skipping actions nothing): no later step may
// compute that layer over these tokens.
class LayerPolicy {
 public:
  virtual ~LayerPolicy() = default;
  // Whether it has to be asked in the step that comes: where not, all layers compute, and a device
  // may do the step as one that it has done before.
  [[nodiscard]] virtual bool has_a_say() const { return true; }
  // Maps must live until the next call. Errors thrown here end the step.
  virtual LayerChoice choose(LayerInput& input) = 0;
  // Whether what it chooses differs from prompt to prompt, so that keys may be missing which a
  // later step of the same sequence would read: then hidden states of a prompt and its first next
  // token are all that can be asked for. [AttnCache §4]
  [[nodiscard]] virtual bool is_of_prefill_alone() const { return false; }
  // A map asked for by show_map: [heads, rows, keys] f32 on the CPU, valid during the call.
  virtual void observe_map(int64_t /*layer*/, const kernels::MapView& /*map*/) {}
  // A layer has come to a point; one that is skipped comes to kDone alone, as does the last one of
  // a step of which nothing is wanted but the cache. `residual` [rows, hidden] f32 is what has
  // become of LayerInput::residual(); in the last layer only its rows whose output is wanted. It is
  // on the CPU where reads_residual(), else on the model's device.
  [[nodiscard]] virtual bool reads_residual() const { return false; }
  virtual void passed(int64_t /*layer*/, BlockPoint /*point*/, const TensorView& /*residual*/) {}
  // Of policies that are asked together (policy_chain.h): the layer does what another one chose, so
  // a map that this one would have kept or shared is not there.
  virtual void overruled(int64_t /*layer*/) {}
};

// Terms of a model's scores that are neither q k^T nor ALiBi.
class ScoreBias {
 public:
  // Queries, keys and values of the step's rows, after clipping and rotation; a row's heads follow
  // one another.
  struct Qkv {
    const float* q = nullptr;
    const float* k = nullptr;
    const float* v = nullptr;
    int64_t row_stride = 0;
  };
  virtual ~ScoreBias() = default;
  // Writes biases [heads, rows, keys] f32, added to the scaled scores; keys = most_keys(step.plan),
  // numbered as kernels::attention_map says.
  virtual void fill(int64_t layer, const StepInput& step, const Qkv& qkv,
                    std::span<float> biases) = 0;
};

}  // namespace reprise::model
