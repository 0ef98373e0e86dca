// From a folder or a shape to a decoder that runs.
#include <filesystem>

#include "core/base/error.h"
#include "core/model/network/decoder.h"
#include "core/model/network/transformer.h"

namespace reprise::model {

std::unique_ptr<Decoder> load_decoder(const std::string& dir_or_shape, const LoadOptions& options,
                                      const Context& context) {
  if (options.dtype == DType::kF16)
    raise("dtype f16 is not supported for weights and activations: use f32 or bf16");
  ModelConfig config = load_config(dir_or_shape);
  std::unique_ptr<WeightSource> source;
  if (options.random_weights) {
    source = random_weights(config, options.seed);
  } else if (std::filesystem::is_directory(dir_or_shape)) {
    adapt_to_checkpoint(dir_or_shape, config);
    source = open_checkpoint(dir_or_shape, config);
  } else {
    raise(
        "{} is a shape without weights: ask for random weights (--random-weights), or give a "
        "checkpoint folder",
        dir_or_shape);
  }
  DecoderWeights weights = load_weights(config, *source, options.dtype, context);
  return make_transformer(std::move(config), options.dtype, std::move(weights), context);
}

}  // namespace reprise::model
