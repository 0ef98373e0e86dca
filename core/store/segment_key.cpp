#include "core/store/segment_key.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstdint>
#include <utility>

namespace reprise::kv {
namespace {

// Appends the text's length first, so that "ab" + "c" differs from "a" + "bc".
void append(std::string& bytes, const std::string& text) {
  const uint64_t length = text.size();
  bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
  bytes += text;
}

std::string bytes_to_hash(const SegmentKey& key) {
  if (key.identity == StoreIdentity{}) return key.module;
  std::string bytes;
  for (const std::string* text : {&key.identity.model, &key.identity.tokenizer,
                                  &key.identity.schema, &key.identity.dtype, &key.module})
    append(bytes, *text);
  return bytes;
}

}  // namespace

SegmentKey::SegmentKey(std::string module_name) : module(std::move(module_name)) {}

SegmentKey::SegmentKey(const char* module_name) : module(module_name) {}

SegmentKey::SegmentKey(StoreIdentity whose, std::string module_name)
    : identity(std::move(whose)), module(std::move(module_name)) {}

std::string file_name_of(const SegmentKey& key) {
  const std::string bytes = bytes_to_hash(key);
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}.segment", hash.high64, hash.low64);
}

}  // namespace reprise::kv
