// Tight loops that measure what the machine can do at most.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/device/cpu.h"

namespace reprise::cpu {

// Reads `bytes` bytes once (a multiple of 4096, 64-byte aligned). The result only keeps the
// compiler from dropping the loads.
float read_all(const void* data, size_t bytes, Isa isa);

// Sum modulo 2^32 of the 32-bit words of `bytes` bytes (a multiple of 4, any alignment). Does not
// prefetch, so it also suits runs shorter than a prefetch distance.
uint32_t sum_words(const void* data, size_t bytes, Isa isa);

// Runs `rounds` rounds of independent f32 multiply-adds in registers; returns the FLOPs done.
double multiply_add_f32(int64_t rounds, Isa isa);

// Runs `rounds` rounds of independent bf16 dot products in registers; returns the FLOPs done. Needs
// AVX512-BF16.
double dot_bf16(int64_t rounds);

// Runs `rounds` rounds of independent products of bf16 tiles; returns the FLOPs done. Needs AMX and
// an earlier call of best_isa(), which asks the system for the tiles.
double multiply_tiles(int64_t rounds);

}  // namespace reprise::cpu
