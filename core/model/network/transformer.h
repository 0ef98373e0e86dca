// Makes a decoder from weights in memory.
#pragma once

#include <memory>

#include "core/device/context.h"
#include "core/model/network/decoder.h"
#include "core/model/network/decoder_weights.h"

namespace reprise::model {

// `dtype`, the dtype of activations, must be the one for which the weights were loaded.
std::unique_ptr<Decoder> make_transformer(ModelConfig config, DType dtype, DecoderWeights weights,
                                          const Context& context);

}  // namespace reprise::model
