#include "baselines/torch/torch_attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/base/error.h"
#include "core/device/memory.h"
#include "core/kernels/attention/reference/attention.h"
#include "tests/core/kernels/attention/attention_cases.h"
#include "tests/support/kernels.h"

namespace reprise::baselines {
namespace {

using kernels::testing::RandomCache;

#define REPRISE_NEEDS_TORCH() \
  if (!torch_absence().empty()) GTEST_SKIP() << torch_absence()

constexpr TorchKernel kKernels[] = {TorchKernel::kNaive, TorchKernel::kSdpa,
                                    TorchKernel::kMemoryEfficient};

bool has_f16() { return torch_version().rfind("1.", 0) != 0; }

std::vector<DType> dtypes() {
  std::vector<DType> known = {DType::kF32, DType::kBF16};
  if (has_f16()) known.push_back(DType::kF16);
  return known;
}

struct Sizes {
  int64_t batch, heads, kv_heads, tokens, head_dim;
};

TorchProblem problem_of(TorchKernel kernel, const Sizes& sizes, const RandomCache& cache) {
  return {.kernel = kernel,
          .dtype = cache.view.dtype,
          .batch = sizes.batch,
          .heads = sizes.heads,
          .kv_heads = sizes.kv_heads,
          .tokens = sizes.tokens,
          .head_dim = sizes.head_dim,
          .keys = cache.view.keys,
          .values = cache.view.values,
          .threads = 2,
          .scale = 0.9f / std::sqrt(static_cast<float>(sizes.head_dim))};
}

RandomCache cache_of(DType dtype, const Sizes& sizes, uint64_t seed) {
  return {dtype, sizes.batch, 1, sizes.kv_heads, sizes.tokens, sizes.head_dim, seed};
}

// The reference output of the problem, from a plan in which block b is the private cache of row b.
std::vector<double> reference_of(const TorchProblem& problem, const RandomCache& cache,
                                 const std::vector<float>& q) {
  kv::AttentionPlan plan;
  plan.caches = {cache.view};
  const auto tokens = static_cast<int32_t>(problem.tokens);
  for (int32_t row = 0; row < problem.batch; ++row) {
    kernels::testing::add_row(plan, tokens - 1);
    const int32_t segment =
        kernels::testing::add_segment(plan, cache, tokens, 0, [row] { return int64_t{row}; });
    plan.items.push_back({.segment = segment, .first_row = row, .end_row = row + 1});
  }
  plan.finish();
  return kernels::reference::attention(
      plan, 0,
      {.data = q.data(), .row_stride = problem.heads * problem.head_dim, .heads = problem.heads},
      {.scale = problem.scale});
}

// Each query is near one key of its own sequence and KV head: an early key for even heads, a late
// one for odd heads. So a wrong row, head or chunk shows as an error of the size of the values.
std::vector<float> queries_near_keys(const Sizes& sizes, const RandomCache& cache) {
  std::vector<float> q =
      kernels::testing::random_queries(sizes.batch * sizes.heads * sizes.head_dim, 11);
  std::vector<float> key(static_cast<size_t>(sizes.head_dim));
  for (int64_t row = 0; row < sizes.batch; ++row)
    for (int64_t head = 0; head < sizes.heads; ++head) {
      const int64_t kv_head = row * sizes.kv_heads + head * sizes.kv_heads / sizes.heads;
      const int64_t distance = (row * 7 + head * 13) % sizes.tokens;
      const int64_t token = head % 2 == 0 ? distance : sizes.tokens - 1 - distance;
      const size_t offset = static_cast<size_t>((kv_head * sizes.tokens + token) * sizes.head_dim) *
                            size_of(cache.view.dtype);
      convert(static_cast<const char*>(cache.view.keys) + offset, cache.view.dtype, key.data(),
              DType::kF32, key.size());
      for (int64_t c = 0; c < sizes.head_dim; ++c) {
        float& value = q[static_cast<size_t>((row * sizes.heads + head) * sizes.head_dim + c)];
        value = 0.5f * value + key[static_cast<size_t>(c)];
      }
    }
  return q;
}

// Squares the values in place; exact enough for a bound.
void square_values(RandomCache& cache) {
  visit_dtype(cache.view.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* values = cache.values.as<T>();
    for (int64_t i = 0; i < cache.values.elements(); ++i)
      values[i] = T(static_cast<float>(values[i]) * static_cast<float>(values[i]));
  });
}

// Error bounds of each output, for unit roundoff u of the dtype. q and (in 1.13) also k are scaled
// and rounded, and scores are stored, so a score s_j is off by e_j <= 4u * scale * |q| |k_j| <= 5.3
// sqrt(head_dim) u here. To first order the result moves by sum_j w_j e_j (v_j - o), at most max
// e_j times the standard deviation of the values under the weights w. Weights and result are stored
// too, which adds twice u times the values' root mean square. attention_test.cpp allows 2^-16 for
// f32 arithmetic.
std::vector<double> bounds_of(const TorchProblem& problem, const std::vector<double>& o,
                              const std::vector<double>& mean_square) {
  const double u = problem.dtype == DType::kF32 ? 0.0 : epsilon_of(problem.dtype) / 2;
  std::vector<double> bounds;
  for (size_t i = 0; i < o.size(); ++i) {
    const double deviation = std::sqrt(std::max(0.0, mean_square[i] - o[i] * o[i]));
    bounds.push_back(u * (5.3 * std::sqrt(static_cast<double>(problem.head_dim)) * deviation +
                          2 * std::sqrt(mean_square[i])) +
                     0x1p-16);
  }
  return bounds;
}

void expect_reference(TorchKernel kernel, DType dtype, const Sizes& sizes) {
  RandomCache cache = cache_of(dtype, sizes, 7);
  const std::vector<float> q = queries_near_keys(sizes, cache);
  const TorchProblem problem = problem_of(kernel, sizes, cache);
  TorchAttention attention(problem);
  std::vector<float> out(q.size(), NAN);
  attention.run(q.data());
  attention.read(out.data());
  const std::vector<double> want = reference_of(problem, cache, q);
  square_values(cache);
  testing::expect_within(out, want, bounds_of(problem, want, reference_of(problem, cache, q)),
                         attention.description() + " " + std::string(name_of(dtype)) + " tokens " +
                             std::to_string(sizes.tokens));
}

TEST(TorchAttention, AgreesWithTheReference) {
  REPRISE_NEEDS_TORCH();
  for (const TorchKernel kernel : kKernels)
    for (const DType dtype : dtypes())
      for (const Sizes& sizes :
           {Sizes{3, 4, 4, 65, 64}, Sizes{2, 8, 2, 130, 128}, Sizes{2, 6, 1, 33, 80},
            Sizes{1, 2, 2, 1, 64}, Sizes{3, 3, 3, 200, 32}})
        expect_reference(kernel, dtype, sizes);
}

TEST(TorchAttention, MergesKeyChunks) {
  REPRISE_NEEDS_TORCH();
  for (const DType dtype : dtypes())
    for (const int64_t more : {1, 700, 2048})
      expect_reference(TorchKernel::kMemoryEfficient, dtype,
                       {1, 2, 1, 2 * TorchAttention::kKeyChunk + more, 16});
}

TEST(TorchAttention, RunsAgainOnOtherQueriesAndValues) {
  REPRISE_NEEDS_TORCH();
  const Sizes sizes{2, 4, 2, 40, 32};
  RandomCache cache = cache_of(DType::kF32, sizes, 3);
  TorchAttention attention(problem_of(TorchKernel::kSdpa, sizes, cache));
  const std::vector<float> q = kernels::testing::random_queries(2 * 4 * 32, 1);
  std::vector<float> first(q.size()), second(q.size());
  attention.run(q.data());
  attention.read(first.data());
  for (int64_t i = 0; i < cache.values.elements(); ++i) cache.values.as<float>()[i] *= 2;
  attention.run(q.data());
  attention.read(second.data());
  for (size_t i = 0; i < q.size(); ++i) EXPECT_EQ(second[i], 2 * first[i]);
}

TEST(TorchAttention, DescribesVersionAndFunction) {
  REPRISE_NEEDS_TORCH();
  const Sizes sizes{1, 1, 1, 4, 16};
  const RandomCache cache = cache_of(DType::kF32, sizes, 3);
  for (const TorchKernel kernel : kKernels) {
    const std::string text = TorchAttention(problem_of(kernel, sizes, cache)).description();
    EXPECT_EQ(text.find("torch " + torch_version() + " "), 0u) << text;
  }
}

TEST(TorchAttention, UnknownDtypeIsAnErrorWithTheRemedy) {
  REPRISE_NEEDS_TORCH();
  if (has_f16()) GTEST_SKIP() << "libtorch " << torch_version() << " knows every dtype";
  const Sizes sizes{1, 1, 1, 4, 16};
  const RandomCache cache = cache_of(DType::kF16, sizes, 3);
  EXPECT_THROW(TorchAttention(problem_of(TorchKernel::kSdpa, sizes, cache)), Error);
}

// A run of many points skips a point that memory is lacking for. Here the scores of so many tokens
// exceed any address space, and they are allocated before anything is read.
TEST(TorchAttention, MemoryThatIsLackingIsAMemoryError) {
  REPRISE_NEEDS_TORCH();
  const Sizes sizes{1, 1, 1, 4, 16};
  const RandomCache cache = cache_of(DType::kF32, sizes, 3);
  TorchProblem problem = problem_of(TorchKernel::kNaive, sizes, cache);
  problem.tokens = int64_t{1} << 48;
  TorchAttention attention(problem);
  const std::vector<float> q(16, 1.0f);
  EXPECT_THROW(attention.run(q.data()), MemoryError);
}

TEST(TorchAttention, ImpossibleShapesAreShapeErrors) {
  const Sizes good{2, 4, 2, 8, 16};
  const RandomCache cache = cache_of(DType::kF32, good, 3);
  for (const Sizes& bad : {Sizes{2, 4, 3, 8, 16}, Sizes{0, 4, 2, 8, 16}, Sizes{2, 4, 2, 0, 16}})
    EXPECT_THROW(TorchAttention(problem_of(TorchKernel::kNaive, bad, cache)), ShapeError);
}

TEST(TorchAttention, AbsenceIsAnErrorWithTheRemedy) {
  if (torch_absence().empty()) GTEST_SKIP() << "libtorch " << torch_version() << " is there";
  const Sizes sizes{1, 1, 1, 4, 16};
  const RandomCache cache = cache_of(DType::kF32, sizes, 3);
  try {
    TorchAttention attention(problem_of(TorchKernel::kSdpa, sizes, cache));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("./setup.sh --torch"), std::string::npos);
  }
}

}  // namespace
}  // namespace reprise::baselines
