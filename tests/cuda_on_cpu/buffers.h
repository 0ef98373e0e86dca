// The device's global memory: which bytes belong to which cudaMalloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "tests/cuda_on_cpu/finding.h"

namespace cuda_on_cpu {

class Buffers {
 public:
  // All of the process.
  static Buffers& all();

  // Null where the host has not the memory. Every byte is 0xff.
  void* allocate(size_t bytes);
  // False unless `start` is the start of a buffer in use.
  bool release(void* start);

  // Whether [address, address + bytes) lies in one buffer in use.
  [[nodiscard]] MaybeFinding check(const void* address, size_t bytes) const;

 private:
  struct Buffer {
    size_t bytes = 0;
    int number = 0;  // counted from 1, for reports
    bool is_freed = false;
  };
  using Map = std::map<uintptr_t, Buffer>;

  [[nodiscard]] std::string nearest_to(uintptr_t address) const;

  Map buffers_;  // by their start; a freed one stays, and so does its memory
  mutable Map::const_iterator last_ = buffers_.end();  // that an access was in
};

}  // namespace cuda_on_cpu
