// A decoder ready to run: packed weights, and one forward step over the rows of a plan.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/weight_format.h"
#include "core/device/context.h"
#include "core/model/checkpoint/weights.h"
#include "core/model/config/config.h"
#include "core/model/network/step.h"

namespace reprise::model {

struct LoadOptions {
  // Dtype of activations, tables and matrix products: f32 or bf16; on a GPU also f16.
  DType dtype = DType::kF32;
  // Storage format of matrices, see held_type(); unset: the plain format of `dtype`. A plain format
  // of another dtype is an error.
  std::optional<WeightFormat> weight_format = std::nullopt;
  bool random_weights = false;  // true: `dir_or_shape` may be a shipped shape's name
  uint64_t seed = 0;            // seed of random weights
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  [[nodiscard]] virtual const ModelConfig& config() const = 0;
  [[nodiscard]] virtual DType dtype() const = 0;
  [[nodiscard]] virtual int64_t weight_bytes() const = 0;  // as packed in memory
  // Storage format of the layers' matrices, see held_type().
  [[nodiscard]] virtual WeightFormat weight_format() const { return format_of(dtype()); }
  // Experts that rows of the last step were routed to, summed over layers; no other expert's
  // weights were read. 0 for a model without experts.
  [[nodiscard]] virtual int64_t touched_experts() const { return 0; }

  // One step: writes the keys and values of each row to its row slot, attends by the plan, and
  // computes the outputs that are wanted. Throws Error for ids outside the vocabulary. Positions
  // beyond config().max_positions are computed as asked (rotary and ALiBi extrapolate); callers
  // decide whether that is meant.
  virtual void forward(const StepInput& input, const StepOutput& output) = 0;

  // The runtime of the device that computes, where caches of plans must lie; null for the CPU.
  [[nodiscard]] virtual std::shared_ptr<DeviceRuntime> runtime() const { return nullptr; }
  // Logits [logit_rows, vocab] of the last forward() in the memory of runtime()'s device, valid
  // until the next forward(); null on the CPU.
  [[nodiscard]] virtual const float* device_logits() const { return nullptr; }
};

// Loads a Hugging Face folder, or makes random weights for the folder's config or a shipped shape.
// Throws Error if a file is wrong, or if the context is batch-invariant and the model or device
// cannot be, and MemoryError if the model does not fit into memory.
std::unique_ptr<Decoder> load_decoder(const std::string& dir_or_shape, const LoadOptions& options,
                                      const Context& context);

// Throws the Error that load_decoder() would throw about dtype, config and the checkpoint's
// headers. Loads no weights and allocates no memory for them.
void check_loadable(const std::string& dir_or_shape, const LoadOptions& options,
                    const Context& context);

}  // namespace reprise::model
