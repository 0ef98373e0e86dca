#include "results/hash.h"

#include <fmt/core.h>

#include "core/base/json.h"

namespace reprise::results {
namespace {

uint64_t mix_byte(uint64_t state, uint8_t byte) { return (state ^ byte) * 0x100000001b3u; }

}  // namespace

uint64_t hash_bytes(std::string_view bytes, uint64_t state) {
  for (const char byte : bytes) state = mix_byte(state, static_cast<uint8_t>(byte));
  return state;
}

uint64_t hash_ids(std::span<const int32_t> ids, uint64_t state) {
  for (const int32_t id : ids)
    for (int shift = 0; shift < 32; shift += 8)
      state = mix_byte(state, static_cast<uint8_t>(static_cast<uint32_t>(id) >> shift));
  return state;
}

std::string hash_text(uint64_t hash) { return fmt::format("{:016x}", hash); }

std::string hash_of(const Value& value) { return hash_text(hash_bytes(json_text(value))); }

}  // namespace reprise::results
