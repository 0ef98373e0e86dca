// Tests linear layers on the device: packing weights there, products, and biases in the epilogue.
#include "core/kernels/linear/linear.h"

#include "core/base/error.h"
#include "tests/core/kernels/device/cuda/device_context.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using reprise::testing::expect_within;
using reprise::testing::random_values;
using reprise::testing::rounding_bound;

constexpr double kUnitF32 = reprise::testing::kUnitF32;

// y = x W^T + bias + the previous output, in double, and a bound for the errors of f32 sums and of
// rounding the result.
struct Product {
  std::vector<double> y, bound;
};

struct Case {
  DType dtype = DType::kBF16, out_dtype = DType::kF32;
  int64_t m = 1, rows = 8, cols = 8;
  bool has_bias = false, accumulate = false;
};

class CudaLinear : public reprise::testing::OnDevice {
 protected:
  Weight weight_of(const std::vector<float>& values, int64_t rows, int64_t cols, DType dtype) {
    return {rows, cols, format_of(dtype),
            [&](int64_t first, int64_t end, void* out) {
              convert(values.data() + first * cols, DType::kF32, out, dtype,
                      static_cast<size_t>((end - first) * cols));
            },
            context_};
  }
  void check(const Case& c);
};

Product product(const Case& c, const std::vector<float>& x, const std::vector<float>& w,
                const std::vector<float>& bias, const std::vector<float>& before) {
  Product product;
  for (int64_t i = 0; i < c.m * c.rows; ++i) {
    const int64_t row = i / c.rows, output = i % c.rows;
    double y = 0.0, magnitude = 0.0;
    const auto add = [&](double term) {
      y += term;
      magnitude += std::abs(term);
    };
    for (int64_t k = 0; k < c.cols; ++k)
      add(static_cast<double>(x[static_cast<size_t>(row * c.cols + k)]) *
          static_cast<double>(w[static_cast<size_t>(output * c.cols + k)]));
    double narrow = 0.0;
    if (c.has_bias) {
      const auto b = static_cast<double>(bias[static_cast<size_t>(output)]);
      add(b);
      narrow = rounding_bound(c.out_dtype, std::abs(b));  // the epilogue adds it in that type
    }
    if (c.accumulate) add(static_cast<double>(before[static_cast<size_t>(i)]));
    product.y.push_back(y);
    product.bound.push_back(static_cast<double>(c.cols + 3) * kUnitF32 * magnitude + narrow +
                            rounding_bound(c.out_dtype, std::abs(y) + narrow));
  }
  return product;
}

void CudaLinear::check(const Case& c) {
  const std::vector<float> x = random_values(c.m * c.cols, 1, c.dtype);
  const std::vector<float> w = random_values(c.rows * c.cols, 2, c.dtype);
  const std::vector<float> bias = random_values(c.rows, 3);
  const std::vector<float> before = random_values(c.m * c.rows, 4, c.out_dtype);
  const Weight weight = weight_of(w, c.rows, c.cols, c.dtype);
  const Tensor device_x = on_device(x, c.dtype), device_bias = on_device(bias, DType::kF32);
  Tensor out = on_device(before, c.out_dtype);
  LinearWorkspace workspace;
  LinearCall{.x = device_x.data(),
             .m = c.m,
             .bias = c.has_bias ? device_bias.as<float>() : nullptr,
             .out = out.data(),
             .out_dtype = c.out_dtype,
             .accumulate = c.accumulate}
      .run(weight, workspace, context_);
  const Product want = product(c, x, w, bias, before);
  expect_within(
      device_values(out), want.y, want.bound,
      fmt::format("{} x {} x {} from {} to {}{}{}", c.m, c.rows, c.cols, name_of(c.dtype),
                  name_of(c.out_dtype), c.has_bias ? ", bias" : "", c.accumulate ? ", added" : ""));
}

TEST_F(CudaLinear, ProductsMatchTheDefinition) {
  for (const DType dtype : {DType::kBF16, DType::kF16, DType::kF32})
    for (const DType out_dtype : {DType::kF32, dtype})
      for (const int64_t m : {1, 3, 40})
        for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{8, 8}, {72, 136}, {256, 64}})
          for (const bool has_bias : {false, true})
            for (const bool accumulate : {false, true}) {
              if (accumulate && out_dtype != DType::kF32) continue;
              check({dtype, out_dtype, m, rows, cols, has_bias, accumulate});
            }
}

TEST_F(CudaLinear, SomeRowsAreALayerOfTheirOwn) {
  constexpr int64_t kRows = 48, kCols = 32;
  const std::vector<float> w = random_values(kRows * kCols, 1, DType::kBF16);
  const std::vector<float> x = random_values(2 * kCols, 2, DType::kBF16);
  const Weight weight = weight_of(w, kRows, kCols, DType::kBF16);
  const Tensor device_x = on_device(x, DType::kBF16);
  Tensor out(DType::kF32, {2, 16}, context_.runtime);
  LinearWorkspace workspace;
  LinearCall{.x = device_x.data(), .m = 2, .out = out.data()}.run(weight.rows(24, 40), workspace,
                                                                  context_);
  const std::vector<float> part(w.begin() + 24 * kCols, w.begin() + 40 * kCols);
  const Product want = product({.m = 2, .rows = 16, .cols = kCols}, x, part, {}, {});
  expect_within(device_values(out), want.y, want.bound, "rows 24 to 40 of 48");
}

TEST_F(CudaLinear, BlocksOfTheWeightsComeBack) {
  const std::vector<float> w = random_values(10 * 16, 1, DType::kF16);
  const Weight weight = weight_of(w, 10, 16, DType::kF16);
  EXPECT_EQ(weight.bytes(), 320u);
  EXPECT_EQ(weight.device(), Device::kCuda);
  std::vector<float> block(2 * 5);
  weight.read_block(3, 5, 7, 12, block.data());
  for (size_t i = 0; i < block.size(); ++i)
    EXPECT_EQ(block[i], w[(3 + i / 5) * 16 + 7 + i % 5]) << i;
}

TEST_F(CudaLinear, ABiasOfAnotherLayerIsAnotherBias) {
  const Weight weight = weight_of(std::vector<float>(64, 0.0f), 8, 8, DType::kBF16);
  const Tensor x = on_device(std::vector<float>(8, 1.0f), DType::kBF16);
  Tensor out(DType::kBF16, {8}, context_.runtime);
  LinearWorkspace workspace;
  const Tensor ones = on_device(std::vector<float>(8, 1.0f), DType::kF32);
  const Tensor twos = on_device(std::vector<float>(8, 2.0f), DType::kF32);
  for (const auto& [bias, value] : {std::pair{&ones, 1.0f}, {&twos, 2.0f}, {&ones, 1.0f}}) {
    LinearCall{.x = x.data(),
               .m = 1,
               .bias = bias->as<float>(),
               .out = out.data(),
               .out_dtype = DType::kBF16}
        .run(weight, workspace, context_);
    EXPECT_EQ(device_values(out), std::vector<float>(8, value));
  }
}

TEST_F(CudaLinear, WeightsAndComputationAreOnOneDevice) {
  const Weight weight = weight_of(std::vector<float>(64, 0.0f), 8, 8, DType::kBF16);
  LinearWorkspace workspace;
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH((LinearCall{.m = 1}.run(weight, workspace, {})), "weights on cuda");
}

}  // namespace
}  // namespace reprise::kernels
