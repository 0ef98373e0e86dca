// A cache of the token ids of short pieces of text, useful since most words of a text occur again.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace reprise::tokenizer {

// Direct-mapped, about 2 MB: a new piece replaces the piece that was in its slot. Not thread-safe.
class PieceCache {
 public:
  static constexpr size_t kMaxBytes = 32;
  static constexpr size_t kMaxIds = 6;

  // If the cache has `piece`, appends its ids and returns true. Otherwise returns false.
  bool find(std::string_view piece, std::vector<int32_t>& ids) const {
    if (slots_.empty() || piece.size() > kMaxBytes) return false;
    const Slot& slot = slots_[index_of(piece)];
    if (slot.bytes != piece.size() || std::memcmp(slot.text, piece.data(), piece.size()) != 0)
      return false;
    ids.insert(ids.end(), slot.ids, slot.ids + slot.count);
    return true;
  }

  void insert(std::string_view piece, std::span<const int32_t> ids) {
    if (piece.empty() || piece.size() > kMaxBytes || ids.size() > kMaxIds) return;
    if (slots_.empty()) slots_.resize(kSlots);
    Slot& slot = slots_[index_of(piece)];
    slot.bytes = static_cast<uint8_t>(piece.size());
    slot.count = static_cast<uint8_t>(ids.size());
    std::memcpy(slot.text, piece.data(), piece.size());
    std::memcpy(slot.ids, ids.data(), ids.size_bytes());
  }

 private:
  static constexpr size_t kSlots = size_t{1} << 15;
  struct Slot {
    char text[kMaxBytes] = {};
    int32_t ids[kMaxIds] = {};
    uint8_t bytes = 0;  // length of the piece in bytes; 0: the slot is empty
    uint8_t count = 0;
  };
  static size_t index_of(std::string_view piece) {
    return std::hash<std::string_view>{}(piece) & (kSlots - 1);
  }

  std::vector<Slot> slots_;  // allocated by the first insert
};

}  // namespace reprise::tokenizer
