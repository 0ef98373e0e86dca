// From a folder or a shape to a decoder that runs.
#include <filesystem>

#include "core/base/error.h"
#include "core/model/network/decoder.h"
#include "core/model/network/transformer.h"

namespace reprise::model {
namespace {

void check_dtype(const LoadOptions& options) {
  if (options.dtype == DType::kF16)
    raise("dtype f16 is not supported for weights and activations: use f32 or bf16");
}

// Where the weights come from; brings `config` to what the checkpoint holds.
std::unique_ptr<WeightSource> open_source(const std::string& dir_or_shape,
                                          const LoadOptions& options, ModelConfig& config) {
  if (options.random_weights) return random_weights(config, options.seed);
  if (!std::filesystem::is_directory(dir_or_shape))
    raise(
        "{} is a shape without weights: ask for random weights (--random-weights, or \"weights\": "
        "\"random\" in an experiment file), or give a checkpoint folder",
        dir_or_shape);
  adapt_to_checkpoint(dir_or_shape, config);
  return open_checkpoint(dir_or_shape, config);
}

}  // namespace

void check_loadable(const std::string& dir_or_shape, const LoadOptions& options) {
  check_dtype(options);
  ModelConfig config = load_config(dir_or_shape);
  (void)open_source(dir_or_shape, options, config);
}

std::unique_ptr<Decoder> load_decoder(const std::string& dir_or_shape, const LoadOptions& options,
                                      const Context& context) {
  check_dtype(options);
  ModelConfig config = load_config(dir_or_shape);
  const auto source = open_source(dir_or_shape, options, config);
  DecoderWeights weights = load_weights(config, *source, options.dtype, context);
  return make_transformer(std::move(config), options.dtype, std::move(weights), context);
}

}  // namespace reprise::model
