// Tests picking, adding and narrowing rows.
#include "core/kernels/rows/cuda/rows.cuh"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/cuda_on_cpu/device_array.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using cuda_on_cpu::DeviceArray;
using cuda_on_cpu::DeviceNumbers;
using reprise::testing::random_values;

std::vector<uint8_t> picked(const std::vector<uint8_t>& in, const std::vector<int32_t>& rows,
                            size_t row_bytes) {
  std::vector<uint8_t> out;
  for (const int32_t row : rows) {
    const auto first =
        in.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(row) * row_bytes);
    out.insert(out.end(), first, first + static_cast<std::ptrdiff_t>(row_bytes));
  }
  return out;
}

std::vector<uint8_t> some_bytes(size_t count) {
  std::vector<uint8_t> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(i * i * 31 + i / 7);
  return bytes;
}

TEST(CudaGatherRows, RowsInAnyOrderAreCopiedElsewhere) {
  for (const size_t row_bytes : {size_t{2}, size_t{4}, size_t{22}, size_t{600}, size_t{1028}})
    for (const std::vector<int32_t>& rows :
         {std::vector<int32_t>{}, {0}, {8, 8, 0, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8}}) {
      const std::vector<uint8_t> in = some_bytes(9 * row_bytes);
      const DeviceArray<uint8_t> device_in(in), out(rows.size() * row_bytes);
      const DeviceArray<int32_t> device_rows(rows);
      cuda::gather_rows({.in = device_in.data(),
                         .out = out.data(),
                         .row_bytes = static_cast<int64_t>(row_bytes),
                         .rows = device_rows.data(),
                         .count = std::ssize(rows)},
                        nullptr);
      EXPECT_EQ(out.values(), picked(in, rows, row_bytes)) << rows.size() << " of " << row_bytes;
    }
}

TEST(CudaGatherRows, RowsThatAscendMoveUpInPlace) {
  for (const size_t row_bytes : {size_t{2}, size_t{4}, size_t{1030}, size_t{2000}})
    for (const std::vector<int32_t>& rows :
         {std::vector<int32_t>{8}, {0, 8}, {1, 2, 3, 4, 5, 6, 7, 8}, {0, 2, 3, 7}}) {
      const std::vector<uint8_t> in = some_bytes(9 * row_bytes);
      const DeviceArray<uint8_t> data(in);
      const DeviceArray<int32_t> device_rows(rows);
      cuda::gather_rows({.in = data.data(),
                         .out = data.data(),
                         .row_bytes = static_cast<int64_t>(row_bytes),
                         .rows = device_rows.data(),
                         .count = std::ssize(rows)},
                        nullptr);
      std::vector<uint8_t> got = data.values();
      got.resize(rows.size() * row_bytes);
      EXPECT_EQ(got, picked(in, rows, row_bytes)) << rows.size() << " of " << row_bytes;
    }
}

TEST(CudaCombineRows, WeightedRowsAreAddedInOrder) {
  for (const int64_t cols : {1, 33, 300})
    for (const int64_t per_row : {1, 3}) {
      constexpr int64_t kRows = 5;
      const std::vector<float> in = random_values(kRows * per_row * cols, 1);
      const std::vector<float> weights = random_values(kRows * per_row, 2);
      std::vector<float> want = random_values(kRows * cols, 3);
      std::vector<int32_t> places;
      for (int64_t i = 0; i < kRows * per_row; ++i)
        places.push_back(static_cast<int32_t>((i * 7 + 2) % (kRows * per_row)));
      const DeviceArray<float> device_in(in), device_weights(weights), out(want);
      const DeviceArray<int32_t> device_places(places);
      cuda::combine_rows({.in = device_in.data(),
                          .places = device_places.data(),
                          .weights = device_weights.data(),
                          .out = out.data(),
                          .rows = kRows,
                          .per_row = per_row,
                          .cols = cols},
                         nullptr);
      std::vector<double> sums(want.begin(), want.end()), bounds(want.size(), 0.0);
      for (int64_t row = 0; row < kRows; ++row)
        for (int64_t s = row * per_row; s < (row + 1) * per_row; ++s)
          for (int64_t c = 0; c < cols; ++c) {
            const auto at = static_cast<size_t>(row * cols + c);
            const double term =
                static_cast<double>(weights[static_cast<size_t>(s)]) *
                static_cast<double>(
                    in[static_cast<size_t>(places[static_cast<size_t>(s)] * cols + c)]);
            sums[at] += term;
            // A product and a sum each round once, and the sum may grow by the term.
            bounds[at] +=
                2.0 * reprise::testing::kUnitF32 * (std::abs(term) + std::abs(sums[at]) + 1.0);
          }
      reprise::testing::expect_within(out.values(), sums, bounds, "combined rows");
    }
}

TEST(CudaNarrowValues, AreRoundedToTheNearest) {
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    const std::vector<float> values = random_values(300, 5);
    const DeviceArray<float> in(values);
    const DeviceNumbers out(values.size(), dtype);
    cuda::narrow_values({.in = in.data(), .out = out.data(), .dtype = dtype, .count = 300},
                        nullptr);
    const std::vector<float> got = out.values();
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(got[i], dtype == DType::kBF16 ? static_cast<float>(bf16(values[i]))
                                              : static_cast<float>(f16(values[i])));
  }
}

}  // namespace
}  // namespace reprise::kernels
