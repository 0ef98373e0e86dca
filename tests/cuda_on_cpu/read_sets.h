// Sets of the reads of a byte of shared memory before which a later write must not come. Many bytes
// have the same readers, so each byte stores only the number of its set.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tests/cuda_on_cpu/toucher.h"

namespace cuda_on_cpu {

class ReadSets {
 public:
  static constexpr uint32_t kNone = 0;  // the empty set

  void clear();
  // Returns the set of the access `who` and of those reads of `set` that do not come before it.
  uint32_t with(uint32_t set, const Accessor& who);
  [[nodiscard]] std::span<const Toucher> of(uint32_t set) const;
  uint32_t add(std::span<const Toucher> readers);
  [[nodiscard]] size_t readers() const { return readers_.size(); }  // of all sets

 private:
  struct Range {
    size_t begin = 0, end = 0;
  };
  std::vector<Toucher> readers_;
  std::vector<Range> sets_{{}};
  // The last call of with(), kept because most bytes of an access or a tile have the same history.
  uint32_t last_set_ = kNone, last_result_ = kNone;
  Toucher last_reader_;
};

}  // namespace cuda_on_cpu
