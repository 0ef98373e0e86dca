// AMX's tile registers, each of 16 rows of 64 bytes. The functions are inline assembly, because
// GCC's intrinsics do not declare which memory they read: the compiler may drop or move earlier
// writes to that memory (seen with GCC 12).
#pragma once

#include <cstddef>
#include <cstdint>

namespace reprise::cpu::tiles {
namespace {

constexpr int kTileRows = 16;
constexpr int kTileBytes = 64;  // bytes of a row: 16 f32, or 32 bf16

// Configures the calling thread's tiles for the lifetime of this object. Code that configures tiles
// itself must not run on the thread meanwhile.
class WholeTiles {
 public:
  WholeTiles() {
    struct alignas(64) Config {
      uint8_t palette = 1, start_row = 0, reserved[14] = {};
      uint16_t row_bytes[16] = {};
      uint8_t rows[16] = {};
    } config;
    static_assert(sizeof(Config) == 64);
    for (int tile = 0; tile < 8; ++tile) {
      config.row_bytes[tile] = kTileBytes;
      config.rows[tile] = kTileRows;
    }
    asm volatile("ldtilecfg %0" : : "m"(config));
  }
  ~WholeTiles() { asm volatile("tilerelease"); }
  WholeTiles(const WholeTiles&) = delete;
  WholeTiles& operator=(const WholeTiles&) = delete;
};

template <int kTile>
inline void zero_tile() {
  asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
}
// Zeroes tiles 0 to 3, which hold the sums of a block of two by two (or one by four) tiles.
inline void zero_sums() {
  zero_tile<0>();
  zero_tile<1>();
  zero_tile<2>();
  zero_tile<3>();
}
// load_tile() loads 16 rows of 64 bytes, which begin `stride` bytes apart; store_tile() stores rows
// at the same distances.
template <int kTile>
inline void load_tile(const void* rows, size_t stride) {
  asm volatile("tileloadd (%1,%2,1), %%tmm%c0" : : "i"(kTile), "r"(rows), "r"(stride) : "memory");
}
template <int kTile>
inline void store_tile(void* rows, size_t stride) {
  asm volatile("tilestored %%tmm%c0, (%1,%2,1)" : : "i"(kTile), "r"(rows), "r"(stride) : "memory");
}
// sum[i][j] += sum over k of a[i][2 k] b[k][2 j] + a[i][2 k + 1] b[k][2 j + 1]: 16 rows of 32 bf16
// times 16 rows of 16 pairs, in f32. Denormals count as zero.
template <int kSum, int kA, int kB>
inline void multiply_tile() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kA), "i"(kB));
}

}  // namespace
}  // namespace reprise::cpu::tiles
