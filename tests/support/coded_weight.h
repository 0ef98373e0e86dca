// Quantized weights for tests: how they are made from values, and how they are read back.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/kernels/linear/linear.h"
#include "core/kernels/linear/reference/quantize.h"
#include "tests/support/kernels.h"

namespace reprise::testing {

inline constexpr WeightFormat kCodeFormats[] = {WeightFormat::kInt8, WeightFormat::kInt4,
                                                WeightFormat::kNf4, WeightFormat::kNf4Double};

inline kernels::Weight weight_of(const std::vector<float>& values, int64_t rows, int64_t cols,
                                 WeightType type, int threads = 2) {
  const auto fill = [&](int64_t first, int64_t end, void* out) {
    std::memcpy(out, values.data() + first * cols,
                static_cast<size_t>((end - first) * cols) * sizeof(float));
  };
  return {rows, cols, type, fill, {.threads = threads, .isa = best_isa()}};
}

inline std::vector<float> block_of(const kernels::Weight& w, int64_t first_row, int64_t end_row,
                                   int64_t first_col, int64_t end_col) {
  std::vector<float> values(static_cast<size_t>((end_row - first_row) * (end_col - first_col)));
  w.read_block(first_row, end_row, first_col, end_col, values.data());
  return values;
}

inline std::vector<float> held_by(const kernels::Weight& w) {
  return block_of(w, 0, w.rows(), 0, w.cols());
}

// A quantized matrix made of `values`, with the values that it holds and those that the format's
// definition gives (`want`).
struct Coded {
  int64_t rows, cols;
  WeightType type;
  std::vector<float> values;
  kernels::Weight packed;
  std::vector<float> held;
  kernels::reference::Held want;

  Coded(int64_t num_rows, int64_t num_cols, WeightType of, uint64_t seed)
      : rows(num_rows),
        cols(num_cols),
        type(of),
        values(random_values(rows * cols, seed)),
        packed(weight_of(values, rows, cols, of)),
        held(held_by(packed)),
        want(kernels::reference::quantized(of.format, values, rows, cols)) {}

  [[nodiscard]] std::string text() const {
    return fmt::format("{} times {} [{}, {}]", name_of(type.format), name_of(type.input), rows,
                       cols);
  }
};

}  // namespace reprise::testing
