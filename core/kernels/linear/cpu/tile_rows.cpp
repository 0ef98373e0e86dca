#include "core/kernels/linear/cpu/tile_rows.h"

#include <algorithm>
#include <cstring>

#include "core/kernels/linear/cpu/linear_task.h"

namespace reprise::kernels::cpu {
namespace {

constexpr int64_t kTileRows = 16, kTileInputs = 32;
constexpr int64_t kPairRows = 2 * kTileRows;

constexpr int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// Returns how many rows of `inputs` inputs fit into the L2 together with two panels; a multiple of
// two tiles.
int64_t fitting_rows(int64_t inputs) {
  const int64_t panel_bytes = inputs * kPanelOutputs * 2;
  const int64_t rows = (l2_bytes() * 7 / 8 - 2 * panel_bytes) / (inputs * 2);
  return std::clamp<int64_t>(rows / kPairRows * kPairRows, kPairRows, kMostTileRows);
}

// Copies a tile of rows, with zeros beyond the rows and the inputs.
void copy_tile(const LinearCall& call, const InputBlock& inputs, int64_t tile, int64_t width,
               bf16* out) {
  const int64_t first = tile * kTileRows, rows = std::min(kTileRows, call.m - first);
  const bf16* x = static_cast<const bf16*>(call.x) + first * inputs.cols;
  for (int64_t c = inputs.first; c < inputs.first + width;
       c += kTileInputs, out += kTileRows * kTileInputs) {
    const int64_t filled = std::clamp<int64_t>(inputs.end - c, 0, kTileInputs);
    if (rows < kTileRows || filled < kTileInputs)
      std::fill_n(out, kTileRows * kTileInputs, bf16(0.0f));
    for (int64_t row = 0; row < rows; ++row)
      std::memcpy(out + row * kTileInputs, x + row * inputs.cols + c,
                  static_cast<size_t>(filled) * sizeof(bf16));
  }
}

const char* copy_tiles(const LinearCall& call, const InputBlock& inputs, int64_t width,
                       LinearWorkspace& workspace, const Context& context) {
  const int64_t tiles = (call.m + kTileRows - 1) / kTileRows;
  const size_t needed = static_cast<size_t>(tiles * kTileRows * width) * sizeof(bf16);
  if (workspace.padded_input.bytes() < needed) workspace.padded_input = AlignedBuffer(needed);
  auto* out = workspace.padded_input.as<bf16>();
  const auto copy = [&](int64_t tile, int) {
    copy_tile(call, inputs, tile, width, out + tile * kTileRows * width);
  };
  copy_items(context, tiles, call.m * width, copy);
  return workspace.padded_input.as<char>();
}

}  // namespace

int64_t TileRows::most_inputs(DType out_dtype, int64_t cols) {
  const int64_t all = round_up(cols, kTileInputs);
  if (out_dtype != DType::kF32) return all;
  int64_t blocks = 1;
  const auto inputs = [&] { return round_up((all + blocks - 1) / blocks, kTileInputs); };
  while (fitting_rows(inputs()) < kMostTileRows && inputs() > kTileInputs) ++blocks;
  return inputs();
}

TileRows::TileRows(const LinearCall& call, const InputBlock& inputs, LinearWorkspace& workspace,
                   const Context& context)
    : call_(call),
      inputs_(inputs),
      words_(panel_words(inputs.end - inputs.first, DType::kBF16)),
      part_rows_(round_up(equal_parts(call.m, fitting_rows(words_ * 2)), kPairRows)),
      fetch_(context.*plain_fetch(DType::kBF16, call.m)),
      tiles_(copy_tiles(call, inputs, words_ * 2, workspace, context)) {}

void TileRows::run(int64_t part, int64_t index, const Outputs& outputs, const void* weights,
                   const void* next) const {
  const int64_t row = part * part_rows_;
  LinearTask task =
      task_of_outputs(call_, outputs, index, row, std::min(part_rows_, call_.m - row));
  if (inputs_.first > 0) {
    task.bias = nullptr;
    task.accumulate = true;
  }
  task.panel = weights;
  task.dtype = DType::kBF16;
  task.words = words_;
  task.x = tiles_ + static_cast<size_t>(row * words_) * sizeof(uint32_t);
  task.next_panel = next;
  task.fetch = fetch_;
  linear_amx(task);
}

}  // namespace reprise::kernels::cpu
