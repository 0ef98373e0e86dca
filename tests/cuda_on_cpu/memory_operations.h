// The check of one access to memory by the thread that runs.
#pragma once

#include <cstddef>

#include "tests/cuda_on_cpu/block.h"

namespace cuda_on_cpu {

struct Access {
  const void* address;
  size_t bytes;
  size_t alignment;  // that the access needs
  Touch how;
  Place place;
};

// Reports an access outside the memory that the thread may use: its own stack, the block's shared
// memory, buffers, and, for reading only, the kernel's parameters and the program's constants.
// Records accesses to shared memory and buffers. Must be called in the emulator (see InEmulator).
void check_access(const Access& access);

}  // namespace cuda_on_cpu
