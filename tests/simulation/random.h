// Random choices of a simulation, which depend on the seed alone.
#pragma once

#include <cstdint>
#include <random>
#include <span>

namespace reprise::simulation {

class Random {
 public:
  explicit Random(uint64_t seed) : bits_(seed) {}

  // A number from low to high, both included. Does not use the standard's distributions, because
  // they differ between libraries, and a seed must mean the same everywhere.
  int32_t pick(int32_t low, int32_t high) {
    const auto range = static_cast<uint64_t>(high - low) + 1;
    return low + static_cast<int32_t>(bits_() % range);
  }
  bool one_in(int32_t n) { return pick(1, n) == 1; }
  template <typename T>
  const T& of(std::span<const T> choices) {
    return choices[static_cast<size_t>(pick(0, static_cast<int32_t>(choices.size()) - 1))];
  }
  uint64_t bits() { return bits_(); }

 private:
  std::mt19937_64 bits_;
};

}  // namespace reprise::simulation
