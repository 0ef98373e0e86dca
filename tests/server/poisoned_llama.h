// A small checkpoint in which the embedding of one token is NaN.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include "core/model/network/decoder.h"
#include "tests/core/model/checkpoint/model_files.h"

namespace reprise::server {

inline std::unique_ptr<model::Decoder> poisoned_llama(int32_t token, const Context& context) {
  const model::TempDir dir;
  dir.write("config.json", model::tiny_llama_config().dump());
  std::string bytes = model::safetensors_of(model::tiny_llama_tensors());
  // The first tensor is model.embed_tokens.weight [10, 8].
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(bytes.data() + 8 + header + sizeof(float) * 8 * static_cast<size_t>(token), &nan,
              sizeof nan);
  dir.write("model.safetensors", bytes);
  return model::load_decoder(dir.path().string(), {.dtype = DType::kF32}, context);
}

}  // namespace reprise::server
