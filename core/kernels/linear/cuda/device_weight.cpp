#include "core/kernels/linear/cuda/device_weight.h"

#include <algorithm>
#include <vector>

#include "core/base/error.h"

namespace reprise::kernels::cuda {
namespace {

size_t bytes_of(int64_t rows, int64_t cols, WeightFormat format) {
  return static_cast<size_t>(rows * cols) * size_of(source_dtype(format));
}

}  // namespace

DeviceWeight::DeviceWeight(int64_t rows, int64_t cols, WeightFormat format,
                           const Weight::FillRows& fill, const Context& context, Gemm& gemm)
    : WeightStore(rows, cols, format, context.device),
      runtime_(context.runtime),
      gemm_(gemm),
      data_(context.runtime, bytes_of(rows, cols, format)) {
  const auto row_bytes = static_cast<int64_t>(bytes_of(1, cols, format));
  const int64_t piece_rows = std::clamp<int64_t>(kPieceBytes / row_bytes, 1, rows);
  AlignedBuffer piece(static_cast<size_t>(piece_rows * row_bytes));
  for (int64_t first = 0; first < rows; first += piece_rows) {
    const int64_t count = std::min(piece_rows, rows - first);
    constexpr int64_t kRowsAtOnce = 64;
    parallel_for(context, (count + kRowsAtOnce - 1) / kRowsAtOnce, [&](int64_t index, int) {
      const int64_t begin = index * kRowsAtOnce, end = std::min(count, begin + kRowsAtOnce);
      fill(first + begin, first + end, piece.as<char>() + begin * row_bytes);
    });
    runtime_->copy_in(data_.as<char>() + first * row_bytes, piece.data(),
                      static_cast<size_t>(count * row_bytes));
  }
}

void DeviceWeight::read_block(int64_t first_row, int64_t end_row, int64_t first_col,
                              int64_t end_col, float* out) const {
  const DType dtype = input_dtype();
  const auto count = static_cast<size_t>(end_col - first_col);
  std::vector<std::byte> row(bytes_of(1, cols(), format()));
  for (int64_t r = first_row; r < end_row; ++r, out += count) {
    runtime_->copy_out(row.data(), data_.as<char>() + r * static_cast<int64_t>(row.size()),
                       row.size());
    convert(row.data() + static_cast<size_t>(first_col) * size_of(dtype), dtype, out, DType::kF32,
            count);
  }
}

void DeviceWeight::apply(const LinearCall& call, int64_t first, int64_t end, LinearWorkspace&,
                         const Context& context) const {
  gemm_.run({.x = call.x,
             .w = data_.as<char>() + bytes_of(first, cols(), format()),
             .dtype = input_dtype(),
             .m = call.m,
             .n = end - first,
             .k = cols(),
             .bias = bias_.of(call, end - first, context),
             .out = call.out,
             .out_dtype = call.out_dtype,
             .accumulate = call.accumulate});
}

}  // namespace reprise::kernels::cuda
