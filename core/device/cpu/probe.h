// Tight loops that measure the machine's highest read bandwidth and arithmetic rates.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/device/cpu.h"

namespace reprise::cpu {

// Reads the `bytes` bytes at `data` once. `bytes` is a multiple of 4096, and `data` is 64-byte
// aligned. The result only keeps the compiler from dropping the loads.
float read_all(const void* data, size_t bytes, Isa isa);

// Returns the sum modulo 2^32 of the 32-bit words at `data`. `bytes` is a multiple of 4; `data` may
// have any alignment. Does not prefetch, so it also suits runs of memory shorter than a prefetch
// distance.
uint32_t sum_words(const void* data, size_t bytes, Isa isa);

// Runs `rounds` rounds of independent f32 multiply-adds in registers; returns the FLOPs done.
double multiply_add_f32(int64_t rounds, Isa isa);

// Runs `rounds` rounds of independent bf16 dot products in registers; returns the FLOPs done. Needs
// AVX512-BF16.
double dot_bf16(int64_t rounds);

// Runs `rounds` rounds of independent products of bf16 tiles; returns the FLOPs done. Needs AMX,
// and an earlier call of best_isa(), which requests the system's permission to use the tiles.
double multiply_tiles(int64_t rounds);

}  // namespace reprise::cpu
