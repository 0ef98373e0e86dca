// Loads a decoder from a folder or a shipped shape.
#include <filesystem>

#include "core/base/error.h"
#include "core/kernels/attention/step_attention.h"
#include "core/model/network/decoder.h"
#include "core/model/network/transformer.h"

namespace reprise::model {
namespace {

// Returns the storage type that the options ask for. Throws Error for f16 on the CPU, and for an
// unquantized format other than that of options.dtype.
WeightType type_of_options(const LoadOptions& options, Device device) {
  const WeightFormat plain = format_of(options.dtype);
  if (options.dtype == DType::kF16 && device == Device::kCpu)
    raise(
        "dtype f16 is not supported for weights and activations on device cpu: use f32 or bf16, "
        "or --device cuda");
  const WeightFormat format = options.weight_format.value_or(plain);
  if (!is_quantized(format) && format != plain)
    raise(
        "weights in format {} are not multiplied with activations in {}: that dtype takes {}, "
        "int8, int4, nf4 and nf4-double",
        name_of(format), name_of(options.dtype), name_of(plain));
  return {format, options.dtype};
}

// Throws Error if results of this model on this device cannot be batch-invariant.
void require_batch_invariance(const ModelConfig& config, const Context& context) {
  if (context.device != Device::kCpu)
    raise(
        "device {} multiplies a few rows in another order than many: batch-invariant results need "
        "device cpu",
        name_of(context.device));
  if (config.rotary.depends_on_length())
    raise(
        "the angles of {}'s rotary embedding depend on a sequence's length, so a preempted "
        "sequence "
        "may go on with others: its results cannot be batch-invariant",
        config.name);
}

// Returns the config of a model. Throws Error if the device cannot run the model.
ModelConfig config_for(const std::string& dir_or_shape, const Context& context) {
  ModelConfig config = load_config(dir_or_shape);
  kernels::require_head_dim(context, config.head_dim);
  if (context.is_batch_invariant) require_batch_invariance(config, context);
  return config;
}

// Opens the source of the weights. Adapts `config` if the checkpoint's tensors differ from it.
std::unique_ptr<WeightSource> open_source(const std::string& dir_or_shape,
                                          const LoadOptions& options, ModelConfig& config) {
  if (options.random_weights) return random_weights(config, options.seed);
  std::error_code error;
  if (!std::filesystem::is_directory(dir_or_shape, error))
    raise(
        "{} is a shape without weights: ask for random weights (--random-weights, or \"weights\": "
        "\"random\" in an experiment file), or give a checkpoint folder",
        dir_or_shape);
  adapt_to_checkpoint(dir_or_shape, config);
  return open_checkpoint(dir_or_shape, config);
}

}  // namespace

ModelConfig check_loadable(const std::string& dir_or_shape, const LoadOptions& options,
                           const Context& context) {
  (void)type_of_options(options, context.device);
  ModelConfig config = config_for(dir_or_shape, context);
  (void)open_source(dir_or_shape, options, config);
  return config;
}

std::unique_ptr<Decoder> load_decoder(const std::string& dir_or_shape, const LoadOptions& options,
                                      const Context& context) {
  const WeightType type = type_of_options(options, context.device);
  ModelConfig config = config_for(dir_or_shape, context);
  const auto source = open_source(dir_or_shape, options, config);
  DecoderWeights weights = load_weights(config, *source, type, context);
  return make_transformer(std::move(config), options.dtype, std::move(weights), context);
}

}  // namespace reprise::model
