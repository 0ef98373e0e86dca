// The tightest loops we can write, to learn what the machine can do.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/device/cpu.h"

namespace reprise::cpu {

// Reads `bytes` (a multiple of 4096, 64-byte aligned) once; the result only keeps the loads alive.
float read_all(const void* data, size_t bytes, Isa isa);

// Sum modulo 2^32 of the 32-bit words of `bytes` (a multiple of 4), of any alignment. Fetches
// nothing ahead: for runs shorter than what lies ahead.
uint32_t sum_words(const void* data, size_t bytes, Isa isa);

// Runs `rounds` rounds of independent fused multiply-adds in registers and returns the FLOPs done.
double multiply_add_f32(int64_t rounds, Isa isa);

// The same with the bf16 dot product. Needs AVX512-BF16.
double dot_bf16(int64_t rounds);

}  // namespace reprise::cpu
