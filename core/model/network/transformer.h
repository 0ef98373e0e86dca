// Makes a decoder from weights in memory.
#pragma once

#include <memory>

#include "core/device/context.h"
#include "core/model/network/decoder.h"
#include "core/model/network/decoder_weights.h"

namespace reprise::model {

// `dtype` of activations must be the one that the weights were loaded for.
std::unique_ptr<Decoder> make_transformer(ModelConfig config, DType dtype, DecoderWeights weights,
                                          const Context& context);

}  // namespace reprise::model
