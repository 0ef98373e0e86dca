// The kernels that the device probe times.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace reprise::kernels::cuda {

// Reads all words of 16 bytes once: the tightest loop we can write over memory.
struct ReadWords {
  static constexpr int kThreads = 256;  // of a block
  static constexpr size_t kWordBytes = 16;
  // Blocks that fill a device of so many SMs.
  static constexpr unsigned full_grid(int sms) { return 8u * static_cast<unsigned>(sms); }

  const void* data = nullptr;  // [words] of 16 bytes, aligned to 16
  int64_t words = 0;
  unsigned blocks = 0;
  // [blocks * kThreads]  of each thread, the sum modulo 2^32 of the exclusive or of its words' four
  // parts: something that depends on every byte
  uint32_t* sums = nullptr;
};
void read_words(const ReadWords& call, cudaStream_t stream);

// bf16 numbers of either sign from 0.5 to 1, two of them a word: a product of zeros draws less
// power and runs faster than one of anything else. The same ones every time.
void fill_random(uint32_t* words, int64_t count, cudaStream_t stream);

// A kernel that does nothing.
void launch_nothing(cudaStream_t stream);

}  // namespace reprise::kernels::cuda
