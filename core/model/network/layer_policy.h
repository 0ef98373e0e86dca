// Policies that choose what each layer of a step does: compute, reuse a stored attention map, or
// skip attention or the whole block.
#pragma once

#include <cstdint>
#include <span>

#include "core/device/tensor.h"
#include "core/kernels/attention_map/attention_map.h"
#include "core/model/network/step.h"

namespace reprise::model {

enum class LayerAction : uint8_t {
  kCompute,        // the layer computes what the model defines
  kReuseMap,       // attention uses given maps; rows that have a map compute values only
                   // [AttnCache]
  kShareMap,       // attention uses the map that an earlier layer kept   [LazyFormer, SAN]
  kSkipAttention,  // attention adds nothing; the MLP and the norms are computed   [AttnDrop]
  kSkipBlock       // the block returns its input   [BlockDrop]
};

struct LayerChoice {
  LayerAction action = LayerAction::kCompute;
  // For kReuseMap: the maps, in the order of rows, each with all query heads. On a CPU, some rows
  // may have no map; their attention is computed.
  std::span<const kernels::RowMap> maps;
  // For kCompute: whether to keep the map for later layers of the step, and whether to show it to
  // the policy. Both need the slower kernels that store the whole map.
  bool keep_map = false;
  bool show_map = false;
};

// Input of one layer, passed to the policy before it chooses what the layer does. Views are on the
// CPU and valid until the policy has chosen. Data on another device is copied when a view is asked
// for.
class LayerInput {
 public:
  LayerInput(int64_t layer, const StepInput& step) : layer_(layer), step_(step) {}
  virtual ~LayerInput() = default;
  [[nodiscard]] int64_t layer() const { return layer_; }
  [[nodiscard]] const StepInput& step() const { return step_; }
  // The input of attention [rows, hidden] in the model's dtype, after the block's input norm if
  // there is one. Computed only if it is asked for, so a skipped layer need not compute it.
  [[nodiscard]] virtual TensorView hidden() = 0;
  // The input of the block, [rows, hidden] f32.
  [[nodiscard]] virtual TensorView residual() = 0;

 private:
  int64_t layer_;
  const StepInput& step_;
};

// Points in a block's computation at which the policy is called.
enum class BlockPoint : uint8_t {
  kAttended,  // attention's output, after its projection, has been added
  kDone
};

// Operations of attention that a policy can have computed one by one, to time each.
enum class AttentionPart { kQueries, kKeys, kValues, kRotary, kMap };

// Chooses what each layer of a step does. A layer leaves no keys in the cache unless its action is
// kCompute: kReuseMap and kShareMap leave values, the skipping actions nothing. After any of these
// four, no later step may compute that layer over these tokens.
class LayerPolicy {
 public:
  virtual ~LayerPolicy() = default;
  // False if all layers of the coming step compute, so that choose() need not be called. A device
  // may then replay an earlier step.
  [[nodiscard]] virtual bool has_a_say() const { return true; }
  // Returns the choice for the layer of `input`. The choice's maps must live until the next call.
  // Errors thrown here end the step.
  virtual LayerChoice choose(LayerInput& input) = 0;
  // True if the policy's choices depend on the prompt. Keys that a later step of the same sequence
  // would read may then be missing. So only hidden states of a prompt and the first generated token
  // can be computed. [AttnCache §4]
  [[nodiscard]] virtual bool is_of_prefill_alone() const { return false; }
  // Receives a map that LayerChoice::show_map asked for: [heads, rows, keys] f32 on the CPU, valid
  // during the call.
  virtual void observe_map(int64_t /*layer*/, const kernels::MapView& /*map*/) {}
  // passed() is called when a layer reaches a point of its block. A layer that skips its attention,
  // and the last layer of a step that only fills the cache, reach kDone only. `residual` [rows,
  // hidden] f32 is the state of the residual stream. If reads_residual(), it is on the CPU and has
  // all rows of the step. Otherwise it is on the model's device, and in the last layer it has the
  // wanted rows only.
  [[nodiscard]] virtual bool reads_residual() const { return false; }
  virtual void passed(int64_t /*layer*/, BlockPoint /*point*/, const TensorView& /*residual*/) {}
  // True if attention computes queries, keys and values in three products instead of one, and calls
  // beginning() and computed() around each part. This is slower, with the same results. It has no
  // effect if scores have additional terms, or in a layer in which only some rows reuse maps. kMap
  // is reported only if a whole map is stored.
  [[nodiscard]] virtual bool splits_attention() const { return false; }
  virtual void beginning(int64_t /*layer*/, AttentionPart /*part*/) {}
  virtual void computed(int64_t /*layer*/, AttentionPart /*part*/) {}
  // Called by a PolicyChain if another policy's choice applies to the layer. A map that this policy
  // wanted to keep or share then does not exist.
  virtual void overruled(int64_t /*layer*/) {}
};

}  // namespace reprise::model
