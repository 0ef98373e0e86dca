// Multiplies input rows with one bf16 panel in AMX's tiles of 16 rows and 16 outputs. A pass over
// all inputs sums two by two tiles, or one by four tiles for the last 16 rows.
//
// With many rows, tiles come from the L2, and a product of tiles waits for them: it takes 9.4 ns
// instead of 5.2 ns (Xeon with AMX, 2048 inputs, 256 rows). Keeping parts of the weights, rows or
// sums in the L1 was tried; it does not help, because the sums are then stored to memory and loaded
// again.
#include <algorithm>

#include "core/device/cpu/tiles_amx-inl.h"
#include "core/kernels/linear/cpu/linear_task.h"

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,avx2,fma")

#include "core/kernels/linear/cpu/linear_store-inl.h"

namespace reprise::kernels::cpu {
namespace {

using namespace reprise::cpu::tiles;

constexpr int kOutputs = 64;                                    // of a panel
constexpr size_t kPanelRowBytes = kOutputs * 4;                 // of weights, and of sums
constexpr int64_t kTile = int64_t{kTileRows} * kTileBytes;      // bytes of a tile of inputs
constexpr int64_t kStep = int64_t{kTileRows} * kPanelRowBytes;  // bytes of weights in a step

// Which weights are prefetched meanwhile depends on the number of rows:
//   up to kFetchedRows     Memory limits the product. A step prefetches as many bytes as it reads,
//                          as far ahead as the task says.
//   up to kUnfetchedRows   none
//   more                   the next panel, evenly over all steps
// (Xeon with AMX, TinyLlama's layers from memory, relative to no prefetch: 32 rows take 0.91 of the
// time, 512 rows 0.95. 64 rows would take 1.04.)
constexpr int kFetchedRows = 2 * kTileRows, kUnfetchedRows = 64;

class Ahead {
 public:
  explicit Ahead(const LinearTask& task)
      : panel_(static_cast<const char*>(task.panel)),
        next_(static_cast<const char*>(task.next_panel)),
        bytes_(task.words / kTileRows * kStep),
        distance_(std::min(task.fetch.bytes / kStep * kStep, bytes_)) {
    const int tiles = (task.rows + kTileRows - 1) / kTileRows;
    if (task.rows > kUnfetchedRows) lines_ = (kStep / 64 + tiles - 1) / tiles;
  }
  [[nodiscard]] const char* panel() const { return panel_; }
  [[nodiscard]] int64_t panel_bytes() const { return bytes_; }

  // Called before the step that begins `at` bytes into the panel; prefetches what later steps read.
  // kLocality is that of with_locality().
  template <int kLocality>
  void step(int64_t at) {
    if constexpr (kLocality >= 0) {
      const int64_t wanted = at + distance_;
      fetch_lines<kLocality, kStep / 64>(wanted < bytes_ ? panel_ + wanted
                                                         : next_ + (wanted - bytes_));
    } else {
      for (int64_t line = 0; line < lines_ && fetched_ < bytes_; ++line, fetched_ += 64)
        fetch_lines<2, 1>(next_ + fetched_);
    }
  }

 private:
  const char *panel_, *next_;
  int64_t bytes_, distance_;
  int64_t lines_ = 0;    // lines of the next panel to fetch in each step
  int64_t fetched_ = 0;  // bytes of the next panel fetched so far
};

// Multiplies two tiles of input rows with the weights of half 0 or 1 of the panel's outputs.
template <int kLocality>
inline void multiply_two(const char* low, const char* high, int half, Ahead& ahead, float* sums) {
  const char* weights = ahead.panel() + half * 2 * kTileBytes;
  zero_sums();
  for (int64_t at = 0; at < ahead.panel_bytes(); at += kStep, low += kTile, high += kTile) {
    ahead.step<kLocality>(at);
    load_tile<4>(low, kTileBytes);
    load_tile<6>(weights + at, kPanelRowBytes);
    load_tile<7>(weights + at + kTileBytes, kPanelRowBytes);
    multiply_tile<0, 4, 6>();
    multiply_tile<1, 4, 7>();
    load_tile<5>(high, kTileBytes);
    multiply_tile<2, 5, 6>();
    multiply_tile<3, 5, 7>();
  }
  sums += half * 32;
  store_tile<0>(sums, kPanelRowBytes);
  store_tile<1>(sums + 16, kPanelRowBytes);
  store_tile<2>(sums + kTileRows * kOutputs, kPanelRowBytes);
  store_tile<3>(sums + kTileRows * kOutputs + 16, kPanelRowBytes);
}

// Multiplies one tile of input rows with the weights of all the panel's outputs.
template <int kLocality>
inline void multiply_one(const char* rows, Ahead& ahead, float* sums) {
  zero_sums();
  for (int64_t at = 0; at < ahead.panel_bytes(); at += kStep, rows += kTile) {
    const char* weights = ahead.panel() + at;
    ahead.step<kLocality>(at);
    load_tile<4>(rows, kTileBytes);
    load_tile<5>(weights, kPanelRowBytes);
    multiply_tile<0, 4, 5>();
    load_tile<6>(weights + kTileBytes, kPanelRowBytes);
    multiply_tile<1, 4, 6>();
    load_tile<7>(weights + 2 * kTileBytes, kPanelRowBytes);
    multiply_tile<2, 4, 7>();
    load_tile<5>(weights + 3 * kTileBytes, kPanelRowBytes);
    multiply_tile<3, 4, 5>();
  }
  store_tile<0>(sums, kPanelRowBytes);
  store_tile<1>(sums + 16, kPanelRowBytes);
  store_tile<2>(sums + 32, kPanelRowBytes);
  store_tile<3>(sums + 48, kPanelRowBytes);
}

template <int kLocality>
void multiply_panel(const LinearTask& task) {
  alignas(64) float sums[2 * kTileRows * kOutputs];
  const int64_t steps = task.words / kTileRows;
  Ahead ahead(task);
  const char* x = static_cast<const char*>(task.x);
  for (int first = 0; first < task.rows; first += 2 * kTileRows, x += 2 * steps * kTile) {
    const int rows = std::min(2 * kTileRows, task.rows - first);
    if (rows <= kTileRows) {
      multiply_one<kLocality>(x, ahead, sums);
    } else {
      multiply_two<kLocality>(x, x + steps * kTile, 0, ahead, sums);
      multiply_two<kLocality>(x, x + steps * kTile, 1, ahead, sums);
    }
    for (int r = 0; r < rows; ++r) store_row(task, first + r, sums + r * kOutputs);
  }
}

}  // namespace

void linear_amx(const LinearTask& task) {
  const WholeTiles configured;
  if (task.rows > kFetchedRows) return multiply_panel<-1>(task);
  with_locality(task.fetch,
                [&](auto locality) { multiply_panel<decltype(locality)::value>(task); });
}

}  // namespace reprise::kernels::cpu

#pragma GCC pop_options
