// Short stable names for settings and outputs: FNV-1a of their bytes in 16 hexadecimal digits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/value.h"

namespace reprise::results {

// 64-bit FNV-1a. Pass the previous result as `state` to hash several pieces.
constexpr uint64_t kHashStart = 0xcbf29ce484222325u;
[[nodiscard]] uint64_t hash_bytes(std::string_view bytes, uint64_t state = kHashStart);
// Hashes ids as little-endian 32-bit words, so the value is the same on every machine.
[[nodiscard]] uint64_t hash_ids(std::span<const int32_t> ids, uint64_t state = kHashStart);
[[nodiscard]] std::string hash_text(uint64_t hash);
// hash_text() of the value's JSON, which is written without line breaks.
[[nodiscard]] std::string hash_of(const Value& value);

}  // namespace reprise::results
