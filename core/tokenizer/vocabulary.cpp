// Reads a vocabulary and checks its ids.
#include "core/tokenizer/vocabulary.h"

#include <algorithm>

namespace reprise::tokenizer {
namespace {

// Upper bound on ids. The largest vocabularies have about 2^18 tokens.
constexpr int64_t kMaxId = int64_t{1} << 22;

}  // namespace

Vocabulary::Vocabulary(const JsonPlace& place) {
  if (!place.value.is_fields()) place.fail("must be an object of token: id");
  if (place.value.fields().empty()) place.fail("is empty: it needs a token at least");
  int64_t largest = -1;
  for (const auto& [token, id] : place.value.fields()) {
    if (!id.is_int64() || id.integer() < 0 || id.integer() >= kMaxId)
      raise("{}: the id of token \"{}\" is {}, it must be from 0 to {}", place.where(),
            token.substr(0, 100), json_text(id), kMaxId - 1);
    largest = std::max(largest, id.integer());
  }
  tokens_.resize(static_cast<size_t>(largest + 1));
  is_used_.resize(tokens_.size());
  ids_.reserve(place.value.size());
  for (const auto& [token, value] : place.value.fields()) {
    const auto id = static_cast<size_t>(value.integer());
    if (is_used_[id])
      raise("{}: tokens \"{}\" and \"{}\" share the id {}", place.where(), tokens_[id], token, id);
    is_used_[id] = true;
    tokens_[id] = token;
    ids_.emplace(tokens_[id], static_cast<int32_t>(id));
    longest_bytes_ = std::max(longest_bytes_, token.size());
  }
}

const std::string& Vocabulary::text(int32_t id) const {
  static const std::string kNone;
  return has(id) ? tokens_[static_cast<size_t>(id)] : kNone;
}

bool Vocabulary::has(int32_t id) const {
  return id >= 0 && id < end_id() && is_used_[static_cast<size_t>(id)];
}

}  // namespace reprise::tokenizer
