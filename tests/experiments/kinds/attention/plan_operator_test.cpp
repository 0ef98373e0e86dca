// Runs every method of the registry through the operator, which must give the outputs of the
// definition.
#include "experiments/kinds/attention/plan_operator.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "methods/registry.h"
#include "tests/experiments/kinds/attention/attention_group.h"
#include "tests/experiments/kinds/attention/naive_attention.h"
#include "tests/support/json.h"

namespace reprise::experiments {
namespace {

// 70 tokens, 48 of them shared. The prompts end inside a block of 8, 16 or 64 tokens, their shared
// parts at the edge of a block of 8 or 16 and inside one of 64.
AttentionProblem problem() {
  return {.batch = 5,
          .heads = 4,
          .kv_heads = 2,
          .head_dim = 16,
          .prompt_tokens = 70,
          .shared_tokens = 48,
          .completion_tokens = 20};
}

std::unique_ptr<AttentionOperator> make_one(const std::string& method, const TokenValues& values) {
  return std::move(make_operators({{method}}, problem(), values, kTwoThreads).front());
}

class EveryMethod : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryMethod, GivesTheOutputsOfTheDefinitionAtEveryStep) {
  const TokenValues values(problem());
  const auto one = make_one(GetParam(), values);
  std::vector<float> output(static_cast<size_t>(problem().batch * problem().q_dim()));
  for (int64_t step = 0; step < problem().completion_tokens; ++step) {
    one->advance();
    one->attend();
    one->read_output(output);
    for (int64_t sequence = 0; sequence < problem().batch; ++sequence) {
      const std::vector<double> expected =
          naive_attention(problem(), values, sequence, 3, problem().prompt_tokens + step + 1);
      const float* o = output.data() + sequence * problem().q_dim() + 3 * problem().head_dim;
      for (size_t c = 0; c < expected.size(); ++c)
        ASSERT_NEAR(o[c], expected[c], 1e-5) << "step " << step << ", sequence " << sequence;
    }
  }
}

TEST_P(EveryMethod, PartsLeaveTheOutputAsItWas) {
  const TokenValues values(problem());
  const auto one = make_one(GetParam(), values);
  std::vector<float> before(static_cast<size_t>(problem().batch * problem().q_dim()));
  std::vector<float> after = before;
  one->advance();
  one->attend();
  one->read_output(before);
  const std::vector<OperatorPart> parts = one->parts();
  EXPECT_FALSE(parts.empty());
  for (const OperatorPart& part : parts) part.run();
  one->read_output(after);
  for (size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(before[i], after[i], 1e-6);
}

// The output stays that of the step before until the parts of the new step are merged.
TEST_P(EveryMethod, PartialResultsMergedAreTheWholeOutput) {
  const TokenValues values(problem());
  const auto one = make_one(GetParam(), values);
  std::vector<float> merged(static_cast<size_t>(problem().batch * problem().q_dim()));
  std::vector<float> whole = merged;
  one->advance();
  one->attend();
  one->advance();
  for (const OperatorPart& part : one->parts())
    if (part.metric == "merge_us" || part.is_whole) part.run();
  one->read_output(merged);
  one->attend();
  one->read_output(whole);
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(merged[i], whole[i], 1e-6);
}

TEST_P(EveryMethod, HoldsAtLeastTheDistinctTokens) {
  const TokenValues values(problem());
  const auto one = make_one(GetParam(), values);
  one->advance();
  const double least = useful_kv_bytes(problem(), problem().prompt_tokens + 1);
  EXPECT_GE(static_cast<double>(one->kv_peak_bytes()), least);
  EXPECT_GE(one->kv_bytes_read(), least);
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryMethod, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& known : methods::known_methods())
                             if (known.info.is_cache) names.push_back(known.info.name);
                           return names;
                         }()),
                         [](const auto& method) { return method.param; });

TEST(LeastCacheBytes, CountsTheLargestPoolAndTheTokensOfTheOthers) {
  // Sequences of 70 + 20 tokens, and one place more for the token that the last step would draw.
  const double pool = 5 * 91 * static_cast<double>(kv_token_bytes(problem()));
  EXPECT_EQ(least_cache_bytes({{"contiguous"}}, problem(), Device::kCpu), pool);
  EXPECT_EQ(least_cache_bytes({{"contiguous"}, {"recompute"}}, problem(), Device::kCpu),
            pool + (48 + 5 * 42) * static_cast<double>(kv_token_bytes(problem())));
}

// A device other than the CPU gives a pool all its memory when the pool is made.
TEST(LeastCacheBytes, CountsEveryPoolWhereEachIsGrantedWhole) {
  const MethodChoice contiguous = {"contiguous"}, paged = {"paged"};
  const auto bytes = [](const std::vector<MethodChoice>& methods) {
    return least_cache_bytes(methods, problem(), Device::kCuda);
  };
  EXPECT_EQ(bytes({contiguous}), 5 * 91 * static_cast<double>(kv_token_bytes(problem())));
  EXPECT_EQ(bytes({contiguous, paged, paged}), bytes({contiguous}) + 2 * bytes({paged}));
}

TEST(MakeOperators, UnknownMethodsAreNamed) {
  const TokenValues values(problem());
  EXPECT_THROW((void)make_one("contigous", values), Error);
}

}  // namespace
}  // namespace reprise::experiments
