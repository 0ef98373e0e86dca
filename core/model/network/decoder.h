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
  // Of activations, tables and what the kernels multiply: f32 or bf16; on a GPU f16, too.
  DType dtype = DType::kF32;
  // How matrices are held (see held_type()); unset: the plain format of `dtype`. A plain format of
  // another dtype is an error, which names those that are multiplied with `dtype`.
  std::optional<WeightFormat> weight_format = std::nullopt;
  bool random_weights = false;  // `dir_or_shape` may then be a shipped shape's name
  uint64_t seed = 0;            // of random weights
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  [[nodiscard]] virtual const ModelConfig& config() const = 0;
  [[nodiscard]] virtual DType dtype() const = 0;
  [[nodiscard]] virtual int64_t weight_bytes() const = 0;  // as packed in memory
  // How the matrices of its layers are held: see held_type().
  [[nodiscard]] virtual WeightFormat weight_format() const { return format_of(dtype()); }
  // Experts that rows of the last step were routed to, counted in each layer: the others' weights
  // were not read. 0 where the model has none.
  [[nodiscard]] virtual int64_t touched_experts() const { return 0; }

  // One step: writes keys and values of each row to its slot, attends by the plan, and computes
  // what is wanted of the last layer. Throws Error for ids outside the vocabulary. Positions beyond
  // config().max_positions are computed as asked, rotary and ALiBi extrapolate; whoever measures or
  // generates decides whether that is meant.
  virtual void forward(const StepInput& input, const StepOutput& output) = 0;

  // Of the device that computes, where plans and their caches have to lie; null: the CPU.
  [[nodiscard]] virtual std::shared_ptr<DeviceRuntime> runtime() const { return nullptr; }
  // [logit_rows, vocab] of the last forward() on that device, until the next; null on the CPU.
  [[nodiscard]] virtual const float* device_logits() const { return nullptr; }
};

// Loads a Hugging Face folder, or makes random weights at its or a shipped shape.
// Throws Error when a file is wrong, or when the model does not fit into memory (with need and
// have).
std::unique_ptr<Decoder> load_decoder(const std::string& dir_or_shape, const LoadOptions& options,
                                      const Context& context);

// Throws the Error that load_decoder() would about dtype, config and the files of the checkpoint,
// whose headers it reads, but loads no weights and asks for no memory.
void check_loadable(const std::string& dir_or_shape, const LoadOptions& options,
                    const Context& context);

}  // namespace reprise::model
