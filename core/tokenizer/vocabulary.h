// The tokens of a model, with a map from text to id and from id to text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/tokenizer/json_place.h"

namespace reprise::tokenizer {

class Vocabulary {
 public:
  // Reads {"token": id, ...}. Throws Error for ids that are negative, duplicate, or at least 2^22.
  explicit Vocabulary(const JsonPlace& place);
  Vocabulary(Vocabulary&&) = default;
  Vocabulary(const Vocabulary&) = delete;  // the keys of ids_ point into tokens_

  [[nodiscard]] std::optional<int32_t> find(std::string_view token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? std::nullopt : std::optional<int32_t>(found->second);
  }
  // Returns "" if no token has this id.
  [[nodiscard]] const std::string& text(int32_t id) const;
  [[nodiscard]] bool has(int32_t id) const;
  [[nodiscard]] int32_t size() const { return static_cast<int32_t>(ids_.size()); }
  [[nodiscard]] int32_t end_id() const { return static_cast<int32_t>(tokens_.size()); }
  [[nodiscard]] size_t longest_bytes() const { return longest_bytes_; }

 private:
  std::vector<std::string> tokens_;  // indexed by id
  std::vector<bool> is_used_;
  std::unordered_map<std::string_view, int32_t> ids_;
  size_t longest_bytes_ = 0;
};

}  // namespace reprise::tokenizer
