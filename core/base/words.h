// Reads and writes little-endian numbers in binary files.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

namespace reprise {

template <typename Word>
void append_word(std::string& bytes, Word word) {
  static_assert(std::is_trivially_copyable_v<Word>);
  bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
}

// Returns the word at `offset`. The caller must have checked that all of its bytes lie within
// `bytes`.
template <typename Word>
Word word_at(std::span<const std::byte> bytes, size_t offset) {
  static_assert(std::is_trivially_copyable_v<Word>);
  Word word{};
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

}  // namespace reprise
