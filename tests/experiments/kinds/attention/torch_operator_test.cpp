// Tests the series of libtorch in kind "attention": end to end on tiny shapes, and the messages if
// libtorch or an option is missing.
#include "experiments/kinds/attention/torch_operator.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "experiments/kinds/attention/attention_kind.h"
#include "tests/experiments/kinds/attention/attention_group.h"
#include "tests/experiments/kinds/attention/naive_attention.h"
#include "tests/support/json.h"
#include "tests/support/measured.h"

namespace reprise::experiments {
namespace {

#define REPRISE_NEEDS_TORCH() \
  if (!baselines::torch_absence().empty()) GTEST_SKIP() << baselines::torch_absence()

const Json kSeries = {"torch_naive", "torch_sdpa", "torch_memory_efficient"};
const Json kSettings = {
    {"batch", 3},          {"heads", 4},           {"kv_heads", 2},         {"head_dim", 32},
    {"prompt_tokens", 40}, {"shared_percent", 50}, {"completion_tokens", 6}};

// A group in which the series come after method paged, with which they are compared.
Group group_of_series(const std::string& dtype, const Json& series = kSeries) {
  return attention_group(kSettings, {"paged"}, dtype, {}, series);
}

std::string message_of(const std::function<void()>& work) {
  try {
    work();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(TorchSeries, RunInKindAttentionBesideTheOthers) {
  REPRISE_NEEDS_TORCH();
  const bool has_f16 = baselines::torch_version().rfind("1.", 0) != 0;
  for (const std::string dtype : {"f32", "bf16", "f16"}) {
    if (dtype == "f16" && !has_f16) continue;
    const Group group = group_of_series(dtype);
    AttentionKind kind(kTwoThreads);
    kind.check(group);
    const std::vector<Measured> measured = measured_json(kind.measure(group, Machine(), {}));
    ASSERT_EQ(measured.size(), 4u);
    for (size_t m = 1; m < measured.size(); ++m) {
      EXPECT_EQ(measured[m].samples["latency_us"].size(), 3u);
      EXPECT_LE(measured[m].answers["rounding_bound_share"].get<double>(), 1.0);
      const auto kernel = measured[m].resolved["kernel"].get<std::string>();
      EXPECT_EQ(kernel.find("torch " + baselines::torch_version() + " "), 0u) << kernel;
      // 40 + 6 tokens held; the median turn reads 40 + 4.
      EXPECT_DOUBLE_EQ(measured[m].metrics["kv_mb"]["value"].get<double>(),
                       1e-6 * static_cast<double>(3 * 46 * 2 * 2 * 32 * size_of(group.kv_dtype)));
      EXPECT_DOUBLE_EQ(measured[m].metrics["read_mb"]["value"].get<double>(),
                       1e-6 * static_cast<double>(3 * 44 * 2 * 2 * 32 * size_of(group.kv_dtype)));
    }
  }
}

TEST(TorchSeries, GiveTheOutputsOfTheDefinitionAtEveryStep) {
  REPRISE_NEEDS_TORCH();
  const AttentionProblem problem = attention_problem(attention_group(kSettings));
  const TokenValues values(problem);
  const auto operators = make_operators(
      {{"torch_naive"}, {"torch_sdpa"}, {"torch_memory_efficient"}}, problem, values, kTwoThreads);
  std::vector<float> output(static_cast<size_t>(problem.batch * problem.q_dim()));
  for (int64_t step = 0; step < problem.completion_tokens; ++step)
    for (const auto& one : operators) {
      one->advance();
      one->settle();
      one->attend();
      one->read_output(output);
      for (int64_t sequence = 0; sequence < problem.batch; ++sequence) {
        const auto expected =
            naive_attention(problem, values, sequence, 3, problem.prompt_tokens + step + 1);
        const float* o = output.data() + sequence * problem.q_dim() + 3 * problem.head_dim;
        for (size_t c = 0; c < expected.size(); ++c)
          ASSERT_NEAR(o[c], expected[c], 1e-5) << "step " << step << ", sequence " << sequence;
      }
    }
}

TEST(TorchSeries, HoldOneCacheTogether) {
  const AttentionProblem problem = attention_problem(attention_group(kSettings));
  const MethodChoice naive = {"torch_naive"}, sdpa = {"torch_sdpa"};
  const auto cache = static_cast<double>(PrivateCache::bytes(problem));
  EXPECT_EQ(least_cache_bytes({naive, sdpa}, problem, Device::kCpu), cache);
  const MethodChoice contiguous = {"contiguous"};
  EXPECT_EQ(least_cache_bytes({contiguous, naive, sdpa}, problem, Device::kCpu),
            cache + least_cache_bytes({contiguous}, problem, Device::kCpu));
}

TEST(TorchSeries, TakeNoOptions) {
  const Json series = {"torch_naive",
                       {{"name", "torch_sdpa"}, {"options", {{"block_tokens", 16}}}}};
  const std::string text = message_of([&] { (void)group_of_series("f32", series); });
  EXPECT_NE(text.find("series.1.options\": series \"torch_sdpa\" has no options"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("leave out \"block_tokens\""), std::string::npos) << text;
}

TEST(TorchSeries, DtypeThatLibtorchDoesNotKnowIsRefusedBeforeAnythingIsMeasured) {
  REPRISE_NEEDS_TORCH();
  if (baselines::torch_version().rfind("1.", 0) != 0)
    GTEST_SKIP() << "libtorch " << baselines::torch_version() << " knows every dtype";
  const Group group = group_of_series("f16");
  const std::string text = message_of([&] { AttentionKind(kTwoThreads).check(group); });
  EXPECT_NE(text.find("f16"), std::string::npos) << text;
}

TEST(TorchSeries, AreMissingWithReasonAndRemedyWithoutLibtorch) {
  const AttentionKind kind(kTwoThreads);
  EXPECT_EQ(kind.missing({"paged"}), "");
  EXPECT_EQ(kind.missing({"torch_sdpa"}), baselines::torch_absence());
  if (baselines::torch_absence().empty())
    GTEST_SKIP() << "libtorch " << baselines::torch_version() << " is there";
  EXPECT_NE(baselines::torch_absence().find("./setup.sh --torch"), std::string::npos);
  const Group group = group_of_series("f32");
  EXPECT_EQ(message_of([&] { AttentionKind(kTwoThreads).check(group); }),
            baselines::torch_absence());
}

}  // namespace
}  // namespace reprise::experiments
