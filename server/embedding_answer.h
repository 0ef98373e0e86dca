// Writes sentence vectors as the API's JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace reprise::server {

// vectors [texts, width]. With `is_base64` each vector is the base64 form of its f32 numbers,
// little-endian; otherwise a list of numbers that read back as the same f32.
std::string embedding_answer(std::span<const float> vectors, int64_t width, bool is_base64,
                             const std::string& model, int64_t prompt_tokens);

}  // namespace reprise::server
