#include "core/device/cpu/probe.h"
#include "core/device/cpu/tiles_amx-inl.h"

namespace reprise::cpu {

double multiply_tiles(int64_t rounds) {
  using namespace tiles;
  const WholeTiles configured;
  alignas(64) uint16_t ones[kTileRows * kTileBytes / 2];
  for (uint16_t& one : ones) one = 0x3f80;
  load_tile<4>(ones, kTileBytes);
  load_tile<5>(ones, kTileBytes);
  load_tile<6>(ones, kTileBytes);
  load_tile<7>(ones, kTileBytes);
  zero_sums();
  for (int64_t round = 0; round < rounds; ++round) {
    multiply_tile<0, 4, 6>();
    multiply_tile<1, 4, 7>();
    multiply_tile<2, 5, 6>();
    multiply_tile<3, 5, 7>();
  }
  return 4 * 2.0 * 16 * 16 * 32 * static_cast<double>(rounds);
}

}  // namespace reprise::cpu
