#include "core/model/checkpoint/random_fill.h"

#include <bit>

// GCC and Clang compile the function for several instruction sets, and the program chooses one at
// run time. Other compilers use the portable version.
#if defined(__x86_64__) && defined(__GNUC__)
#define REPRISE_X86_TARGETS 1
#endif

namespace reprise::model {
namespace {

// Rounds an odd 17-bit integer times half_step to bf16. The result is in the upper half of the
// word; the lower half is meaningless. There is one product and no sum, so no compiler
// fuses operations, which would change the rounding.
[[gnu::always_inline]] inline uint32_t rounded(int32_t odd, float half_step) {
  const uint32_t word = std::bit_cast<uint32_t>(static_cast<float>(odd) * half_step);
  return word + 0x7fffu + ((word >> 16) & 1u);
}

// The loop that every version below inlines. The hash is a xor-shift-multiply finalizer. Its second
// round uses the other half of the key, so that streams of different keys are not permutations of
// each other.
[[gnu::always_inline]] inline void fill(uint64_t key, uint32_t first_pair, float half_step,
                                        uint32_t* words, size_t count) {
  const auto key_low = static_cast<uint32_t>(key), key_high = static_cast<uint32_t>(key >> 32);
  for (size_t j = 0; j < count; ++j) {
    uint32_t h = (first_pair + static_cast<uint32_t>(j)) ^ key_low;
    h ^= h >> 16;
    h *= 0x7feb352du;
    h ^= h >> 15;
    h += key_high;
    h *= 0x846ca68bu;
    h ^= h >> 16;
    const uint32_t low = rounded((static_cast<int32_t>(h << 16) >> 15) | 1, half_step);
    const uint32_t high = rounded((static_cast<int32_t>(h) >> 15) | 1, half_step);
    words[j] = (low >> 16) | (high & 0xffff0000u);
  }
}

void fill_portable(uint64_t key, uint32_t first_pair, float half_step, uint32_t* words,
                   size_t count) {
  fill(key, first_pair, half_step, words, count);
}

#ifdef REPRISE_X86_TARGETS
[[gnu::target("avx2")]] void fill_avx2(uint64_t key, uint32_t first_pair, float half_step,
                                       uint32_t* words, size_t count) {
  fill(key, first_pair, half_step, words, count);
}

[[gnu::target("avx512f,avx512vl,prefer-vector-width=512")]] void fill_avx512(
    uint64_t key, uint32_t first_pair, float half_step, uint32_t* words, size_t count) {
  fill(key, first_pair, half_step, words, count);
}
#endif

}  // namespace

void fill_uniform_bf16(uint64_t key, uint32_t first_pair, float half_step,
                       std::span<uint32_t> words, Isa isa) {
#ifdef REPRISE_X86_TARGETS
  if (isa >= Isa::kAvx512)
    return fill_avx512(key, first_pair, half_step, words.data(), words.size());
  if (isa >= Isa::kAvx2) return fill_avx2(key, first_pair, half_step, words.data(), words.size());
#else
  static_cast<void>(isa);
#endif
  fill_portable(key, first_pair, half_step, words.data(), words.size());
}

}  // namespace reprise::model
