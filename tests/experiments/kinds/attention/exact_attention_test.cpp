// Tests the check before timing: it must accept all errors that rounding explains, and nearly no
// wrong outputs.
#include "experiments/kinds/attention/exact_attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "core/device/tensor.h"
#include "core/kernels/attention/attention.h"
#include "experiments/kinds/attention/attention_operator.h"
#include "tests/experiments/kinds/attention/attention_group.h"
#include "tests/experiments/kinds/attention/naive_attention.h"

namespace reprise::experiments {
namespace {

AttentionProblem problem_of(int64_t batch, int64_t heads, int64_t kv_heads, int64_t head_dim,
                            int64_t prompt_tokens, DType dtype, uint64_t seed = 1) {
  return {.batch = batch,
          .heads = heads,
          .kv_heads = kv_heads,
          .head_dim = head_dim,
          .prompt_tokens = prompt_tokens,
          .shared_tokens = prompt_tokens / 2,
          .completion_tokens = 1,
          .kv_dtype = dtype,
          .seed = seed};
}

std::unique_ptr<AttentionOperator> stepped(const AttentionProblem& problem,
                                           const TokenValues& values, const std::string& method) {
  auto one = std::move(make_operators({{method}}, problem, values, kTwoThreads).front());
  one->advance();
  one->attend();
  return one;
}

std::vector<float> output_of(AttentionOperator& one, const AttentionProblem& problem) {
  std::vector<float> output(static_cast<size_t>(problem.batch * problem.q_dim()));
  one.read_output(output);
  return output;
}

TEST(ExactAttention, IsTheDefinitionOfEverySequenceAndHead) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    const AttentionProblem problem = problem_of(3, 6, 2, 20, 90, dtype);
    const TokenValues values(problem);
    const ExactAttention exact(problem, values, 91, kTwoThreads);
    for (int64_t sequence = 0; sequence < 3; ++sequence)
      for (int64_t head = 0; head < 6; ++head) {
        const std::vector<double> want = naive_attention(problem, values, sequence, head, 91);
        const auto got = exact.output(sequence, head);
        ASSERT_EQ(got.size(), want.size());
        double norm = 0;
        for (size_t c = 0; c < want.size(); ++c) {
          EXPECT_NEAR(got[c], want[c], 1e-6);
          norm += want[c] * want[c];
        }
        EXPECT_NEAR(exact.head(sequence, head).norm, std::sqrt(norm), 1e-6);
      }
  }
}

// Tests the formula of the spreads by hand, with two keys of one dimension.
TEST(ExactAttention, SpreadsAreThoseOfTheirFormula) {
  const AttentionProblem problem = problem_of(1, 1, 1, 1, 1, DType::kF32);
  const TokenValues values(problem);
  const ExactAttention exact(problem, values, 2, kTwoThreads);
  double p[2], v[2], q = values.query(0, 1)[0], n = 0, o = 0;
  for (int64_t j = 0; j < 2; ++j) n += p[j] = std::exp(q * double{values.key(0, j)[0]});
  for (int64_t j = 0; j < 2; ++j) o += (p[j] /= n) * (v[j] = values.value(0, j)[0]);
  double weights = 0, queries = 0;
  for (int64_t j = 0; j < 2; ++j) {
    const double moved = std::pow(p[j] * (std::abs(v[j]) + std::abs(o)), 2);
    weights += moved;
    queries += moved * std::pow(q * double{values.key(0, j)[0]}, 2);
  }
  const ExactHead& head = exact.head(0, 0);
  EXPECT_NEAR(head.weight_spread, weights, 1e-6);
  EXPECT_NEAR(head.query_spread, queries, 1e-6);
  EXPECT_NEAR(head.weight_keys, 1 / (p[0] * p[0] + p[1] * p[1]), 1e-6);
  const double u = 0.125;
  EXPECT_NEAR(rounding_bound(head, {.queries = u, .weights = u, .outputs = u}, 1),
              6 * u * std::sqrt((weights + queries + o * o) / 3), 1e-6);
  EXPECT_NEAR(rounding_bound(head, {.sums = 0.25}, 1), 0.25 * std::sqrt(o * o + weights), 1e-6);
}

// With few keys and many, few dimensions and many, no right output is refused.
TEST(Deviation, WhatRoundingDoesPasses) {
  double largest = 0;
  uint64_t seed = 0;
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    for (const int64_t tokens : {1, 2, 5, 40, 700})
      for (const int64_t head_dim : {8, 16, 80, 128})
        for (const char* method : {"contiguous", "chunk_attention"}) {
          const AttentionProblem problem = problem_of(4, 8, 4, head_dim, tokens, dtype, ++seed);
          const TokenValues values(problem);
          const auto one = stepped(problem, values, method);
          const ExactAttention exact(problem, values, tokens + 1, kTwoThreads);
          const Deviation deviation =
              deviation_of(exact, output_of(*one, problem), one->rounding());
          EXPECT_LE(deviation.bound_share, 1.0)
              << name_of(dtype) << " " << tokens << " tokens of " << head_dim << " " << method;
          if (dtype == DType::kBF16) largest = std::max(largest, deviation.bound_share);
        }
  EXPECT_GE(largest, 0.3);  // a bound that nothing comes near would find nothing
}

// Among a thousand heads of one dimension, some outputs are close to 0 by chance.
TEST(Deviation, WhatRoundingDoesToSmallHeadsPasses) {
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const int64_t head_dim : {1, 2, 3}) {
      const AttentionProblem problem = problem_of(32, 32, 32, head_dim, 1000, dtype);
      const TokenValues values(problem);
      const auto one = stepped(problem, values, "contiguous");
      const ExactAttention exact(problem, values, 1001, kTwoThreads);
      EXPECT_LE(deviation_of(exact, output_of(*one, problem), one->rounding()).bound_share, 1.0)
          << name_of(dtype) << ", heads of " << head_dim;
    }
}

// If only outputs are rounded, an element's error is one rounding, not a sum of many. It is
// proportional to the element, so the largest element of many may be off by more than six times the
// root mean square of the errors.
TEST(Deviation, ALargeElementMayBeOffByItsOwnRounding) {
  const AttentionProblem problem = problem_of(8, 16, 16, 64, 200, DType::kBF16);
  const ExactAttention exact(problem, TokenValues(problem), 201, kTwoThreads);
  std::vector<float> right;
  double most = 0;  // of an element over the root mean square of its head
  size_t largest = 0;
  for (int64_t sequence = 0; sequence < 8; ++sequence)
    for (int64_t head = 0; head < 16; ++head)
      for (const double o : exact.output(sequence, head)) {
        const double share = std::abs(o) / (exact.head(sequence, head).norm / 8);
        if (share > most) {
          most = share;
          largest = right.size();
        }
        right.push_back(static_cast<float>(o));
      }
  const double u = 0x1p-8;
  ASSERT_GT(most, 6 / std::sqrt(3.0));
  const auto share_with = [&](double roundings) {
    std::vector<float> output = right;
    output[largest] *= static_cast<float>(1 + roundings * u);
    return deviation_of(exact, output, {.outputs = u, .sums = 1e-4}).bound_share;
  };
  EXPECT_LE(share_with(1), 1.0);
  EXPECT_GT(share_with(1.2), 1.0);
}

TEST(Deviation, EveryOutputIsLookedAt) {
  const AttentionProblem problem = problem_of(3, 4, 2, 16, 30, DType::kBF16);
  const TokenValues values(problem);
  const auto one = stepped(problem, values, "paged");
  const ExactAttention exact(problem, values, 31, kTwoThreads);
  const std::vector<float> right = output_of(*one, problem);
  ASSERT_LE(deviation_of(exact, right, one->rounding()).bound_share, 1.0);
  for (size_t i = 0; i < right.size(); ++i)
    for (const float wrong :
         {std::nanf(""), std::numeric_limits<float>::infinity(), right[i] + 0.5f}) {
      std::vector<float> output = right;
      output[i] = wrong;
      const Deviation deviation = deviation_of(exact, output, one->rounding());
      EXPECT_GT(deviation.bound_share, 1.0) << i << " is " << wrong;
      EXPECT_EQ(deviation.sequence * 4 + deviation.head, static_cast<int64_t>(i / 16));
    }
}

// Holds the keys and values of one sequence in a cache of its own, and attends to all of them but
// one.
class WithoutOneKey {
 public:
  WithoutOneKey(const AttentionProblem& problem, const TokenValues& values, int64_t sequence,
                int64_t keys)
      : problem_(problem),
        tokens_(keys),
        keys_(problem.kv_dtype, {problem.kv_heads, keys, problem.head_dim}),
        values_(problem.kv_dtype, {problem.kv_heads, keys, problem.head_dim}) {
    const auto q = values.query(sequence, keys - 1);
    queries_.assign(q.begin(), q.end());
    const auto dim = static_cast<size_t>(problem.head_dim);
    for (int64_t t = 0; t < keys; ++t)
      for (int64_t head = 0; head < problem.kv_heads; ++head)
        for (const auto& [from, to] :
             {std::pair{values.key(sequence, t), &keys_}, {values.value(sequence, t), &values_}})
          convert(from.data() + head * problem.head_dim, DType::kF32,
                  static_cast<char*>(to->data()) +
                      static_cast<size_t>((head * keys + t) * problem.head_dim) *
                          size_of(problem.kv_dtype),
                  problem.kv_dtype, dim);
  }

  // The output [heads * head_dim], rounded as in a decode step of the runtime, without key
  // `missing`; -1: with all keys.
  std::vector<float> attend(int64_t missing) {
    kv::AttentionPlan plan;
    plan.caches = {{.keys = keys_.data(),
                    .values = values_.data(),
                    .dtype = problem_.kv_dtype,
                    .layer_stride = 0,
                    .head_stride = tokens_ * problem_.head_dim,
                    .kv_heads = problem_.kv_heads,
                    .head_dim = problem_.head_dim}};
    plan.row_positions = {static_cast<int32_t>(tokens_) - 1};
    plan.row_lengths = {static_cast<int32_t>(tokens_)};
    plan.row_slots = {kv::kNoSlot};
    for (const auto& [first, end] : {std::pair{int64_t{0}, missing}, {missing + 1, tokens_}}) {
      if (first >= end) continue;
      plan.items.push_back({.segment = static_cast<int32_t>(plan.segments.size()), .end_row = 1});
      plan.segments.push_back({.first_block = static_cast<int32_t>(plan.block_offsets.size()),
                               .block_tokens = static_cast<int32_t>(end - first),
                               .tokens = static_cast<int32_t>(end - first),
                               .first_position = static_cast<int32_t>(first)});
      plan.block_offsets.push_back(first * problem_.head_dim);
    }
    plan.finish();
    const DType dtype = problem_.kv_dtype == DType::kBF16 ? DType::kBF16 : DType::kF32;
    Tensor out(dtype, {problem_.q_dim()});
    kernels::AttentionWorkspace workspace;
    kernels::attention(
        plan, 0, {.data = queries_.data(), .row_stride = problem_.q_dim(), .heads = problem_.heads},
        {.scale = score_scale(problem_)}, {.data = out.data(), .dtype = dtype}, workspace,
        kTwoThreads);
    std::vector<float> values(static_cast<size_t>(problem_.q_dim()));
    convert(out.data(), dtype, values.data(), DType::kF32, values.size());
    return values;
  }

 private:
  AttentionProblem problem_;
  int64_t tokens_;
  Tensor keys_, values_;  // [kv_heads, tokens, head_dim]
  std::vector<float> queries_;
};

// One of 1000 keys weighs about 1/1000. Leaving it out moves the output o by 1.2 % of its norm,
// three times the mean effect of bf16. A head whose query gives the key a small weight does not
// show the error, but among several heads one nearly always does. One of 4000 keys weighs a quarter
// of that, and o is half as long.
TEST(Deviation, AKeyThatIsLeftOutIsFoundInAnySequence) {
  struct Case {
    int64_t heads, kv_heads, head_dim, keys;
    DType dtype;
    double least_share;
  };
  for (const Case& c :
       {Case{1, 1, 128, 1000, DType::kBF16, 0.6}, Case{8, 8, 64, 1000, DType::kBF16, 0.99},
        Case{32, 8, 128, 1000, DType::kBF16, 0.99}, Case{32, 8, 128, 4000, DType::kBF16, 0.99},
        Case{1, 1, 128, 4000, DType::kF32, 1.0}, Case{2, 1, 128, 1000, DType::kF32, 0.99},
        Case{2, 1, 128, 4000, DType::kF16, 0.99}}) {
    const AttentionProblem problem =
        problem_of(3, c.heads, c.kv_heads, c.head_dim, c.keys - 1, c.dtype);
    const TokenValues values(problem);
    const auto one = stepped(problem, values, "contiguous");
    const ExactAttention exact(problem, values, c.keys, kTwoThreads);
    const std::vector<float> right = output_of(*one, problem);
    ASSERT_LE(deviation_of(exact, right, one->rounding()).bound_share, 1.0);
    std::mt19937_64 random(7);
    constexpr int kTrials = 60;
    int found = 0;
    for (int64_t sequence = 0; sequence < problem.batch; ++sequence) {
      WithoutOneKey part(problem, values, sequence, c.keys);
      const auto output_with = [&](int64_t missing) {
        std::vector<float> output = right;
        const std::vector<float> changed = part.attend(missing);
        std::copy(changed.begin(), changed.end(), output.begin() + sequence * problem.q_dim());
        return output;
      };
      ASSERT_LE(deviation_of(exact, output_with(-1), one->rounding()).bound_share, 1.0);
      for (int trial = 0; trial < kTrials / 3; ++trial) {
        const int64_t missing = std::uniform_int_distribution<int64_t>(0, c.keys - 1)(random);
        const Deviation deviation = deviation_of(exact, output_with(missing), one->rounding());
        if (deviation.bound_share <= 1.0) continue;
        ++found;
        EXPECT_EQ(deviation.sequence, sequence);
      }
    }
    RecordProperty(fmt::format("found_of_{}_heads_{}_keys_{}", c.heads, c.keys, name_of(c.dtype)),
                   fmt::format("{}/{}", found, kTrials));
    EXPECT_GE(found, c.least_share * kTrials)
        << c.heads << " heads, " << c.keys << " keys in " << name_of(c.dtype);
  }
}

}  // namespace
}  // namespace reprise::experiments
