#include "core/kernels/kv_write/cuda/kv_write.cuh"

#include <gtest/gtest.h>

#include <cmath>

#include "core/kernels/rotary/cuda/rotary.cuh"
#include "tests/cuda_on_cpu/device_array.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using cuda_on_cpu::DeviceArray;
using cuda_on_cpu::DeviceNumbers;
using reprise::testing::random_values;

constexpr int64_t kBlocks = 3, kLayers = 3, kLayer = 1, kBlockTokens = 4;

// Keys and values [kBlocks, kLayers, kv_heads, kBlockTokens, head_dim].
struct Shape {
  DType dtype;
  int64_t kv_heads, head_dim;

  [[nodiscard]] int64_t at(int64_t block, int64_t layer, int64_t head, int64_t token) const {
    return (((block * kLayers + layer) * kv_heads + head) * kBlockTokens + token) * head_dim;
  }
  [[nodiscard]] int64_t elements() const { return at(kBlocks, 0, 0, 0); }
};

float rounded(float value, DType dtype) {
  return visit_dtype(
      dtype, [&](auto tag) { return static_cast<float>(static_cast<decltype(tag)>(value)); });
}

struct Slot {
  int64_t block, token;  // block < 0: the row has no slot
};

// Expects that every element of the cache is either the rounded input of the row whose slot it lies
// in, or unchanged. Rows end with `slack` unused elements.
void check(const Shape& shape, const std::vector<Slot>& slots, bool has_keys, int64_t slack = 1) {
  const int64_t width = shape.kv_heads * shape.head_dim, stride = 3 * width + slack;
  const std::vector<float> rows = random_values(std::ssize(slots) * stride, 11);
  std::vector<float> want_keys(static_cast<size_t>(shape.elements()), 3.0f);
  std::vector<float> want_values = want_keys;
  const DeviceNumbers keys(want_keys, shape.dtype), values(want_values, shape.dtype);
  std::vector<int64_t> row_slots;
  for (size_t row = 0; row < slots.size(); ++row) {
    const auto [block, token] = slots[row];
    row_slots.push_back(block < 0 ? kv::kNoSlot : shape.at(block, 0, 0, token));
    if (block < 0) continue;
    for (int64_t i = 0; i < width; ++i) {
      const auto to = static_cast<size_t>(shape.at(block, kLayer, i / shape.head_dim, token) +
                                          i % shape.head_dim);
      const auto from = static_cast<size_t>(static_cast<int64_t>(row) * stride + i);
      if (has_keys) want_keys[to] = rounded(rows[from], shape.dtype);
      want_values[to] = rounded(rows[from + static_cast<size_t>(width)], shape.dtype);
    }
  }
  const DeviceArray<int64_t> device_slots(row_slots);
  const DeviceArray<float> device_rows(rows);
  cuda::write_kv({.cache = {.keys = keys.data(),
                            .values = values.data(),
                            .dtype = shape.dtype,
                            .device = Device::kCuda,
                            .layer_stride = shape.at(0, 1, 0, 0),
                            .head_stride = shape.at(0, 0, 1, 0),
                            .kv_heads = shape.kv_heads,
                            .head_dim = shape.head_dim},
                  .row_slots = device_slots.data(),
                  .rows = std::ssize(slots),
                  .layer = kLayer,
                  .keys = has_keys ? device_rows.data() : nullptr,
                  .values = device_rows.data() + width,
                  .row_stride = stride},
                 nullptr);
  EXPECT_EQ(keys.values(), want_keys) << name_of(shape.dtype) << " keys";
  EXPECT_EQ(values.values(), want_values) << name_of(shape.dtype) << " values";
}

TEST(CudaKvWrite, RowsLandInTheirSlotsAndNowhereElse) {
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    for (int64_t kv_heads : {1, 3})
      for (int64_t head_dim : {1, 7, 64, 80})
        for (bool has_keys : {true, false})
          for (int64_t slack : {0, 1, 8})  // scattered over blocks, out of order
            check({dtype, kv_heads, head_dim}, {{2, 3}, {0, 0}, {2, 0}, {1, 2}, {0, 3}}, has_keys,
                  slack);
}

TEST(CudaKvWrite, RowsWithoutASlotAreNotStored) {
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    check({dtype, 2, 24}, {{-1, 0}, {0, 1}, {-1, 0}, {-1, 0}, {1, 3}}, true);
}

TEST(CudaKvWrite, NoRowsWriteNothing) { check({DType::kBF16, 2, 8}, {}, true); }

// The shape of rows. A row holds queries, keys, values and `slack` unused numbers.
struct Rotation {
  DType dtype;
  int64_t heads, kv_heads, head_dim, half, slack;

  [[nodiscard]] int64_t stride() const { return (heads + 2 * kv_heads) * head_dim + slack; }
};

struct Written {
  std::vector<float> queries, keys, values;
  bool operator==(const Written&) const = default;
};

// Rotates queries and keys and stores keys and values, by one kernel (`at_once`) or by two.
Written written(const Rotation& shape, const std::vector<int64_t>& slots, bool at_once) {
  const int64_t rows = std::ssize(slots), block = shape.kv_heads * kBlockTokens * shape.head_dim;
  const std::vector<float> before(static_cast<size_t>(kBlocks * kLayers * block), 3.0f);
  const DeviceNumbers keys(before, shape.dtype), values(before, shape.dtype);
  const DeviceArray<int64_t> device_slots(slots);
  const DeviceArray<float> data(random_values(rows * shape.stride(), 3));
  const DeviceArray<float> cos(random_values(rows * shape.half, 4));
  const DeviceArray<float> sin(random_values(rows * shape.half, 5));
  const RotaryCall rotary{.data = data.data(),
                          .rows = rows,
                          .row_stride = shape.stride(),
                          .heads = shape.heads + shape.kv_heads,
                          .head_dim = shape.head_dim,
                          .half = shape.half,
                          .cos = cos.data(),
                          .sin = sin.data()};
  float* const first_key = data.data() + shape.heads * shape.head_dim;
  const cuda::KvWrite write{.cache = {.keys = keys.data(),
                                      .values = values.data(),
                                      .dtype = shape.dtype,
                                      .device = Device::kCuda,
                                      .layer_stride = block,
                                      .head_stride = kBlockTokens * shape.head_dim,
                                      .kv_heads = shape.kv_heads,
                                      .head_dim = shape.head_dim},
                            .row_slots = device_slots.data(),
                            .rows = rows,
                            .layer = kLayer,
                            .keys = first_key,
                            .values = first_key + shape.kv_heads * shape.head_dim,
                            .row_stride = shape.stride()};
  if (at_once) {
    cuda::rotate_and_write_kv(rotary, write, nullptr);
  } else {
    cuda::rotary(rotary, nullptr);
    cuda::write_kv(write, nullptr);
  }
  Written out{.keys = keys.values(), .values = values.values()};
  const std::vector<float> all = data.values();
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < shape.heads * shape.head_dim; ++i)
      out.queries.push_back(all[static_cast<size_t>(row * shape.stride() + i)]);
  return out;
}

// Heads that are rotated in part or not at all, rows without a slot, and shapes that cannot be read
// four elements at a time.
TEST(CudaKvWrite, RotatingAndWritingAtOnceIsTheSameAsOneAfterTheOther) {
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    for (int64_t kv_heads : {1, 3})
      for (int64_t head_dim : {32, 80, 6})
        for (int64_t half : {int64_t{0}, head_dim / 4, head_dim / 2})
          for (int64_t slack : {0, 1, 4}) {
            const Rotation shape{dtype, 3, kv_heads, head_dim, half, slack};
            const int64_t block = kLayers * kv_heads * kBlockTokens * head_dim;
            const std::vector<int64_t> slots = {2 * block + 3 * head_dim, kv::kNoSlot, 0,
                                                block + head_dim};
            const Written both = written(shape, slots, true);
            EXPECT_EQ(both, written(shape, slots, false))
                << name_of(dtype) << ' ' << kv_heads << " heads of " << head_dim << ", half "
                << half << ", slack " << slack;
            EXPECT_NE(both.keys, std::vector<float>(both.keys.size(), 3.0f));
          }
}

}  // namespace
}  // namespace reprise::kernels
