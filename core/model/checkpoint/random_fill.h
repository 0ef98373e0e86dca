// Counter-based uniform bfloat16 numbers, two in each 32-bit word, equal on all instruction sets.
#pragma once

#include <cstdint>
#include <span>

#include "core/device/cpu.h"

namespace reprise::model {

// words[j] holds element 2p in its low half and 2p + 1 in its high half, with p = first_pair + j.
//   h = hash32(p, key)                  each half, read as a signed integer, is k of one element
//   value = round_to_bf16((2k + 1) * half_step)
// So values are uniform on the odd multiples of half_step in (-2^16, 2^16) * half_step, with mean 0
// and standard deviation 2^16 / sqrt(3) * half_step, before rounding. Pair indices wrap at 2^32.
// Allocates nothing.
void fill_uniform_bf16(uint64_t key, uint32_t first_pair, float half_step,
                       std::span<uint32_t> words, Isa isa);

}  // namespace reprise::model
