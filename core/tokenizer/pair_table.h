// A hash table from a pair of token ids to the token they merge into. A lookup usually takes one
// probe.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace reprise::tokenizer {

class PairTable {
 public:
  struct Merge {
    // A rank of -1 means that the table does not have the pair.
    int32_t rank = -1;
    int32_t id = -1;
  };

  // Allocates room for `pairs` pairs, so that at most half of the slots are used.
  explicit PairTable(size_t pairs)
      : slots_(std::bit_ceil(pairs * 2 + 1)), shift_(64 - std::countr_zero(slots_.size())) {}

  // Inserts a pair. If the table has the pair already, replaces its merge.
  void insert(int32_t left, int32_t right, Merge merge) {
    Slot& slot = slots_[position(key_of(left, right))];
    slot = {key_of(left, right), merge};
  }
  [[nodiscard]] Merge find(int32_t left, int32_t right) const {
    return slots_[position(key_of(left, right))].merge;
  }

 private:
  struct Slot {
    uint64_t key = ~uint64_t{0};  // no pair has this key, since ids are not negative
    Merge merge;
  };
  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  [[nodiscard]] size_t position(uint64_t key) const {
    size_t at = shift_ == 64 ? 0 : (key * 0x9E3779B97F4A7C15u) >> shift_;
    while (slots_[at].key != key && slots_[at].merge.rank >= 0) at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  std::vector<Slot> slots_;
  int shift_;
};

}  // namespace reprise::tokenizer
