// Writes sentence vectors as the API's JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace reprise::server {

// Returns the answer's JSON for vectors [texts, width]. With `is_base64` a vector is written as the
// base64 form of its little-endian f32 numbers, otherwise as a list of numbers that read back as
// the same f32.
std::string embedding_answer(std::span<const float> vectors, int64_t width, bool is_base64,
                             const std::string& model, int64_t prompt_tokens);

}  // namespace reprise::server
