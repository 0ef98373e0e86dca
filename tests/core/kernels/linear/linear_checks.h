// Compares products with their definition in every instruction set, for weights held as numbers and
// as codes.
#pragma once

#include <fmt/core.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/kernels/linear/linear.h"
#include "core/kernels/linear/reference/linear.h"
#include "tests/support/coded_weight.h"
#include "tests/support/kernels.h"

namespace reprise::kernels::testing {

using reprise::testing::available_isas;
using reprise::testing::Coded;
using reprise::testing::kSmallestNormal;
using reprise::testing::kUnitBf16;
using reprise::testing::kUnitF32;
using reprise::testing::random_values;

// A matrix of random values in the form that the kernels use, and the same values for the oracle.
struct Weights {
  int64_t rows, cols;
  DType dtype;
  std::vector<float> values;  // [rows, cols]
  Weight packed;

  Weights(int64_t num_rows, int64_t num_cols, DType type, uint64_t seed, int threads = 2)
      : rows(num_rows),
        cols(num_cols),
        dtype(type),
        values(random_values(rows * cols, seed, type)),
        packed(rows, cols, format_of(type), filler(), {.threads = threads, .isa = best_isa()}) {}

  [[nodiscard]] Weight::FillRows filler() const {
    return [this](int64_t first, int64_t end, void* out) {
      convert(values.data() + first * cols, DType::kF32, out, dtype,
              static_cast<size_t>((end - first) * cols));
    };
  }
};

struct Variant {
  bool has_bias = false;
  bool accumulate = false;
  DType out_dtype = DType::kF32;
};

inline std::vector<float> magnitudes(std::vector<float> values) {
  for (float& value : values) value = std::abs(value);
  return values;
}

// Error bounds of f32 sums, in any order, of `cols` products, a bias and the output's previous
// value: each of the cols + 2 roundings is at most 2^-24 of the sum of magnitudes. The products of
// two bf16 are exact in f32. VDPBF16PS treats subnormal products as zero, hence kSmallestNormal.
// bf16 results round once more.
inline std::vector<double> bounds(const std::vector<double>& want, const std::vector<double>& sums,
                                  int64_t cols, DType out_dtype) {
  std::vector<double> bound;
  for (size_t i = 0; i < want.size(); ++i) {
    double b = static_cast<double>(cols + 2) * (kUnitF32 * sums[i] + kSmallestNormal);
    if (out_dtype == DType::kBF16) b += kUnitBf16 * (std::abs(want[i]) + b);
    bound.push_back(b);
  }
  return bound;
}

// Input rows, bias and previous output of a product, drawn from a seed.
struct ProductInputs {
  std::vector<float> x, bias, before;

  ProductInputs(const Weight& w, int64_t m, bool has_bias, uint64_t seed)
      : x(random_values(m * w.cols(), seed + 1, w.input_dtype())),
        bias(has_bias ? random_values(w.rows(), seed + 2) : std::vector<float>()),
        before(random_values(m * w.rows(), seed + 3)) {}
};

// Expects each instruction set's product to be `want` within `bound`.
inline void expect_product(const Weight& w, const ProductInputs& inputs, int64_t m,
                           const Variant& variant, const std::vector<double>& want,
                           const std::vector<double>& bound, const std::vector<Isa>& isas) {
  const Tensor x = reprise::testing::tensor_of(inputs.x, w.input_dtype());
  for (Isa isa : isas) {
    Tensor out = reprise::testing::tensor_of(inputs.before, variant.out_dtype);
    LinearWorkspace workspace;
    LinearCall{.x = x.data(),
               .m = m,
               .bias = variant.has_bias ? inputs.bias.data() : nullptr,
               .out = out.data(),
               .out_dtype = variant.out_dtype,
               .accumulate = variant.accumulate}
        .run(w, workspace, {.threads = 2, .isa = isa});
    reprise::testing::expect_within(
        reprise::testing::values_of(out), want, bound,
        fmt::format("{} {} times {} [{}, {}] m {} bias {} accumulate {} out {}", name_of(isa),
                    name_of(w.format()), name_of(w.input_dtype()), w.rows(), w.cols(), m,
                    variant.has_bias, variant.accumulate, name_of(variant.out_dtype)));
  }
}

// Compares a product of weights held as numbers with the reference.
inline void check(const Weights& w, int64_t m, const Variant& variant, uint64_t seed,
                  const std::vector<Isa>& isas = available_isas()) {
  const ProductInputs inputs(w.packed, m, variant.has_bias, seed);
  std::vector<double> want = reference::linear(w.values, w.rows, w.cols, inputs.x, m, inputs.bias);
  std::vector<double> sums = reference::linear(magnitudes(w.values), w.rows, w.cols,
                                               magnitudes(inputs.x), m, magnitudes(inputs.bias));
  if (variant.accumulate)
    for (size_t i = 0; i < want.size(); ++i) {
      want[i] += static_cast<double>(inputs.before[i]);
      sums[i] += std::abs(static_cast<double>(inputs.before[i]));
    }
  expect_product(w.packed, inputs, m, variant, want, bounds(want, sums, w.cols, variant.out_dtype),
                 isas);
}

// Error bounds of products with coded weights: in f32, at most two roundings for each product and
// group, relative to the terms that are summed. With bf16 inputs, weights or NF4's numbers are
// rounded to bf16; results in bf16 are rounded once more.
inline std::vector<double> bounds(const Coded& w, const std::vector<float>& x, int64_t m,
                                  const std::vector<double>& want, const std::vector<double>& rest,
                                  DType out_dtype) {
  const std::vector<float> parts(w.want.parts.begin(), w.want.parts.end());
  const std::vector<float> sizes = magnitudes(x);
  const std::vector<double> sums = reference::linear(parts, w.rows, w.cols, sizes, m, {});
  const std::vector<double> of_held =
      reference::linear(magnitudes(w.held), w.rows, w.cols, sizes, m, {});
  std::vector<double> bound(want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    bound[i] = static_cast<double>(2 * w.cols + 64) *
               (kUnitF32 * (sums[i] + std::abs(rest[i])) + kSmallestNormal);
    if (w.type.input == DType::kBF16) bound[i] += kUnitBf16 * of_held[i];
    if (out_dtype == DType::kBF16) bound[i] += kUnitBf16 * (std::abs(want[i]) + bound[i]);
  }
  return bound;
}

// Compares a product of weights held as codes with the reference.
inline void check(const Coded& w, int64_t m, const Variant& variant, uint64_t seed,
                  const std::vector<Isa>& isas = available_isas()) {
  const ProductInputs inputs(w.packed, m, variant.has_bias, seed);
  std::vector<double> want = reference::linear(w.held, w.rows, w.cols, inputs.x, m, inputs.bias);
  std::vector<double> rest(want.size());  // the values that are added to the product
  for (size_t i = 0; i < want.size(); ++i) {
    if (variant.has_bias)
      rest[i] += std::abs(static_cast<double>(inputs.bias[i % inputs.bias.size()]));
    if (!variant.accumulate) continue;
    want[i] += static_cast<double>(inputs.before[i]);
    rest[i] += std::abs(static_cast<double>(inputs.before[i]));
  }
  expect_product(w.packed, inputs, m, variant, want,
                 bounds(w, inputs.x, m, want, rest, variant.out_dtype), isas);
}

}  // namespace reprise::kernels::testing
