// Compares embedding on a device with its definition.
#include <gtest/gtest.h>

#include <cmath>

#include "core/kernels/embedding/cuda/embedding.cuh"
#include "core/kernels/embedding/reference/embedding.h"
#include "tests/cuda_on_cpu/device_array.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using cuda_on_cpu::DeviceArray;
using cuda_on_cpu::DeviceNumbers;
using reprise::testing::random_values;

TEST(CudaEmbedding, TablesOfAnyDtypeMatchTheReferenceAndAddUp) {
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    for (int64_t cols : {1, 17, 300})
      for (int32_t rows : {0, 1, 30}) {
        const std::vector<float> values = random_values(50 * cols, 1, dtype);
        std::vector<int32_t> ids;
        for (int32_t i = 0; i < rows; ++i) ids.push_back((i * i * 7 + 3) % 50);
        const std::vector<float> want = reference::embedding(values, cols, ids);
        const DeviceNumbers table(values, dtype);
        const DeviceArray<int32_t> device_ids(ids);
        const DeviceArray<float> out(want.size());
        cuda::Embedding call{.table = table.data(),
                             .dtype = dtype,
                             .entries = 50,
                             .cols = cols,
                             .ids = device_ids.data(),
                             .rows = rows,
                             .out = out.data()};
        cuda::embedding(call, nullptr);
        EXPECT_EQ(out.values(), want) << name_of(dtype) << " " << rows << " x " << cols;
        call.accumulate = true;
        cuda::embedding(call, nullptr);
        const std::vector<float> twice = out.values();
        for (size_t i = 0; i < want.size(); ++i) ASSERT_EQ(twice[i], want[i] + want[i]);
      }
}

TEST(CudaEmbedding, IdsThatAreNotInTheTableBecomeNan) {
  const DeviceArray<float> table(random_values(12, 1)), out(9);
  const DeviceArray<int32_t> ids(std::vector<int32_t>{-1, 3, 4});
  cuda::embedding({.table = table.data(),
                   .entries = 4,
                   .cols = 3,
                   .ids = ids.data(),
                   .rows = 3,
                   .out = out.data()},
                  nullptr);
  const std::vector<float> got = out.values();
  for (size_t i = 0; i < 9; ++i) EXPECT_EQ(std::isnan(got[i]), i / 3 != 1) << i;
}

}  // namespace
}  // namespace reprise::kernels
