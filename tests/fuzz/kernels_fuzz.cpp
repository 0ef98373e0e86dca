// Runs the CPU's kernels on random shapes and compares every instruction set with the definition,
// and so all instruction sets with each other. A difference, or an access outside a buffer, ends
// the target.
#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

#include "tests/core/kernels/activation/activation_checks.h"
#include "tests/core/kernels/attention/attention_checks.h"
#include "tests/core/kernels/disentangled/disentangled_checks.h"
#include "tests/core/kernels/linear/linear_checks.h"
#include "tests/core/kernels/norm/norm_checks.h"
#include "tests/core/kernels/rotary/rotary_checks.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace reprise;
using kernels::testing::Variant;
using reprise::testing::random_values;

// Draws numbers from the input, two bytes each; the least number once no bytes are left.
class Draws {
 public:
  explicit Draws(std::string_view bytes) : bytes_(bytes) {}

  int operator()(int low, int high) {
    unsigned drawn = 0;
    for (int i = 0; i < 2 && !bytes_.empty(); ++i, bytes_.remove_prefix(1))
      drawn = drawn << 8 | static_cast<unsigned char>(bytes_.front());
    return low + static_cast<int>(drawn % static_cast<unsigned>(high - low + 1));
  }
  bool flag() { return (*this)(0, 1) == 1; }
  DType dtype() { return flag() ? DType::kBF16 : DType::kF32; }
  uint64_t seed() { return static_cast<uint64_t>((*this)(0, 65535)); }

 private:
  std::string_view bytes_;
};

// A power of two from 2^-60 to 2^60, or 0.
float scale_of(Draws& draw) {
  const int exponent = draw(-61, 60);
  return exponent < -60 ? 0.0f : std::ldexp(1.0f, exponent);
}

void attention(Draws& draw) {
  const uint64_t seed = draw.seed();
  kernels::testing::check_random_plan(draw, seed, draw(1, 6));
}

Variant variant(Draws& draw) {
  Variant drawn{.has_bias = draw.flag(), .accumulate = draw.flag()};
  if (!drawn.accumulate) drawn.out_dtype = draw.dtype();
  return drawn;
}

void linear(Draws& draw) {
  const int rows = draw(1, 200), cols = draw(1, 300);
  const kernels::testing::Weights w(rows, cols, draw.dtype(), draw.seed());
  kernels::testing::check(w, draw(0, 80), variant(draw), draw.seed());
}

void coded(Draws& draw) {
  const int rows = draw(1, 200), cols = draw(1, 300);
  const WeightFormat format = reprise::testing::kCodeFormats[draw(0, 3)];
  const reprise::testing::Coded w(rows, cols, {format, draw.dtype()}, draw.seed());
  kernels::testing::check(w, draw(0, 140), variant(draw), draw.seed());
}

void norm(Draws& draw) {
  const int rows = draw(0, 9), cols = draw(1, 700);
  const float scale = std::ldexp(1.0f, draw(-40, 40));
  const std::vector<float> x = random_values(rows * cols, draw.seed(), DType::kF32, scale),
                           weight = random_values(cols, draw.seed()),
                           bias = random_values(cols, draw.seed());
  const bool has_bias = draw.flag();
  kernels::testing::check_norm({.is_rms = draw.flag(),
                                .weight = weight.data(),
                                .bias = has_bias ? bias.data() : nullptr,
                                .x = x.data(),
                                .out_dtype = draw.dtype(),
                                .rows = rows,
                                .cols = cols},
                               has_bias ? "bias" : "no bias");
}

void rotary(Draws& draw) {
  const int half = draw(1, 130), heads = draw(0, 5);
  const int head_dim = 2 * half + draw(0, 9);
  std::vector<int32_t> positions(static_cast<size_t>(draw(1, 20)));
  for (int32_t& position : positions) position = draw(0, 65535) << draw(0, 8);
  kernels::testing::check_rotary({heads, head_dim, half, heads * head_dim + draw(0, 20)}, positions,
                                 "drawn");
}

void activation(Draws& draw) {
  const int rows = draw(1, 5), cols = draw(1, 300);
  const bool is_gated = draw.flag();
  const DType dtype = draw.dtype();
  kernels::testing::check_activation(
      kernels::testing::kActivations[draw(0, 2)], is_gated, dtype,
      random_values(rows * cols * (is_gated ? 2 : 1), draw.seed(), dtype, scale_of(draw)), rows,
      cols);
}

void disentangled(Draws& draw) {
  std::vector<int32_t> lengths(static_cast<size_t>(draw(1, 4)));
  for (int32_t& length : lengths) length = draw(1, 70);
  const int heads = draw(1, 4), head_dim = draw(1, 70);
  const kernels::testing::DisentangledProblem problem(lengths, heads, head_dim, draw(1, 80));
  const auto want = kernels::reference::disentangled(problem.call, problem.rows);
  for (const Isa isa : reprise::testing::available_isas())
    kernels::testing::expect_disentangled(
        kernels::testing::run_disentangled(problem.call, problem.rows, isa), want, 1e-5,
        std::string(name_of(isa)));
}

constexpr std::array kKernels = {attention, linear, coded, norm, rotary, activation, disentangled};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  ::testing::GTEST_FLAG(break_on_failure) = true;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input = fuzz::text_of(data, size);
  Draws draw(input);
  kKernels[static_cast<size_t>(draw(0, kKernels.size() - 1))](draw);
  fuzz::canary(input);
  return 0;
}
