// The kernels that probe_device() times.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace reprise::kernels::cuda {

// Arguments of read_words(), which reads each 16-byte word once, in a loop that does little else.
struct ReadWords {
  static constexpr int kThreads = 256;  // threads of a block
  static constexpr size_t kWordBytes = 16;
  // Number of blocks that fill a device with this many SMs.
  static constexpr unsigned full_grid(int sms) { return 8u * static_cast<unsigned>(sms); }

  const void* data = nullptr;  // [words] of 16 bytes, aligned to 16
  int64_t words = 0;
  unsigned blocks = 0;
  // [blocks * kThreads] for each thread, the sum modulo 2^32 over its words of 16 bytes, where a
  // word counts as the exclusive or of its four 32-bit parts. So the sum depends on every byte.
  uint32_t* sums = nullptr;
};
void read_words(const ReadWords& call, cudaStream_t stream);

// Writes bf16 numbers of either sign from 0.5 to 1, two in each word, the same at each call. (A
// product of zeros draws less power and runs faster than others.)
void fill_random(uint32_t* words, int64_t count, cudaStream_t stream);

// Launches a kernel that does nothing.
void launch_nothing(cudaStream_t stream);

}  // namespace reprise::kernels::cuda
