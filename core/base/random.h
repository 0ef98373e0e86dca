// Counter-based random numbers: each value depends only on its seed and indices, never on earlier
// draws.
#pragma once

#include <cstdint>

namespace reprise {

// A bijective mix of 64 bits (the finaliser of SplitMix64).
constexpr uint64_t mix_bits(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Returns 64 random bits for element (a, b) of the stream `seed`.
constexpr uint64_t random_bits(uint64_t seed, uint64_t a, uint64_t b) {
  return mix_bits(mix_bits(mix_bits(seed) ^ a) ^ b);
}

// A uniform number in [0, 1) with 53 random bits.
constexpr double random_unit(uint64_t seed, uint64_t a, uint64_t b) {
  return static_cast<double>(random_bits(seed, a, b) >> 11) * 0x1p-53;
}

}  // namespace reprise
