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
  // Dtype of activations, tables and the inputs of matrix products: f32 or bf16; on a GPU also f16.
  DType dtype = DType::kF32;
  // Storage format of the layers' matrices, see held_type(). If unset, they are not quantized and
  // have `dtype`. A format that is not quantized and has another dtype is an error.
  std::optional<WeightFormat> weight_format = std::nullopt;
  bool random_weights = false;  // true: `dir_or_shape` may also be a shipped shape's name
  uint64_t seed = 0;            // seed of random weights
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  [[nodiscard]] virtual const ModelConfig& config() const = 0;
  [[nodiscard]] virtual DType dtype() const = 0;
  // Bytes of the weights as packed in memory.
  [[nodiscard]] virtual int64_t weight_bytes() const = 0;
  // Storage format of the layers' matrices, see held_type().
  [[nodiscard]] virtual WeightFormat weight_format() const { return format_of(dtype()); }
  // Number of experts to which rows of the last step were routed, summed over layers. The weights
  // of other experts were not read. 0 for a model without experts.
  [[nodiscard]] virtual int64_t touched_experts() const { return 0; }

  // Computes one step: writes the keys and values of each row to its row slot, computes attention
  // by the plan, and computes the wanted outputs. Throws Error for ids, token types and learned
  // positions outside their tables, and for logits of a model without a head. Rotary and ALiBi
  // positions beyond config().max_positions are computed as given. Callers that do not want such
  // positions must check for them.
  virtual void forward(const StepInput& input, const StepOutput& output) = 0;

  // The runtime of the device that computes. Caches of plans must lie in its memory. Null for the
  // CPU.
  [[nodiscard]] virtual std::shared_ptr<DeviceRuntime> runtime() const { return nullptr; }
  // Logits [logit_rows, vocab] of the last forward() in the memory of runtime()'s device, valid
  // until the next forward(); null on the CPU.
  [[nodiscard]] virtual const float* device_logits() const { return nullptr; }
};

// Loads a Hugging Face folder, or makes random weights for the folder's config or for a shipped
// shape. Throws Error if a file is wrong, or if the context is batch-invariant and the model or
// device cannot be. Throws MemoryError if the model does not fit into memory.
std::unique_ptr<Decoder> load_decoder(const std::string& dir_or_shape, const LoadOptions& options,
                                      const Context& context);

// Returns the config that load_decoder()'s decoder would have. Throws the errors that
// load_decoder() would throw for the dtype, the config and the checkpoint's headers. Loads no
// weights and allocates no memory for them.
ModelConfig check_loadable(const std::string& dir_or_shape, const LoadOptions& options,
                           const Context& context);

}  // namespace reprise::model
