// Fetching ahead changes when memory is read, and nothing else.
#include <gtest/gtest.h>

#include <cstring>

#include "core/base/error.h"
#include "core/base/fields.h"
#include "core/kernels/attention/attention.h"
#include "core/kernels/attention/fetch_calibration.h"
#include "core/kernels/calibration/calibration.h"
#include "tests/core/kernels/attention/attention_cases.h"
#include "tests/support/environment.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using reprise::testing::EnvironmentVariable;

std::vector<FetchSetting> extremes() {
  std::vector<FetchSetting> all;
  for (const char* text :
       {"l1:6144:2048", "l1:64:0", "l1:64:64", "l2:65536:0", "l2:65536:65536", "l1:24576:300",
        "l2:700:1", "l1:6144:4096:twice", "l1:64:64:twice", "l2:65536:2048:twice"})
    all.push_back(parse_fetch(text));
  return all;
}

std::string error_of(const char* text) {
  try {
    parse_fetch(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// The caches' memory ends with their last block, so that AddressSanitizer sees a load beyond it.
TEST(Fetch, NoSettingChangesABit) {
  uint64_t seed = 1;
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const int64_t head_dim : {2, 32, 64, 80, 128, 256})
      for (const int64_t block_tokens : {1, 7, 16, 64})
        for (const int64_t group : {1, 2, 3, 4, 8}) {
          constexpr int64_t kKvHeads = 2;
          const auto tokens = static_cast<int32_t>(130 + seed % 17);
          const int64_t blocks = (tokens + block_tokens - 1) / block_tokens;
          const testing::RandomCache cache(dtype, blocks, 1, kKvHeads, block_tokens, head_dim,
                                           ++seed);
          const kv::AttentionPlan plan = testing::causal_plan(cache, tokens - 1, 1);
          const int64_t row = kKvHeads * group * head_dim;
          const std::vector<float> q = testing::random_queries(row, seed);
          std::vector<std::vector<float>> outs;
          for (const Isa isa : reprise::testing::available_isas()) {
            outs.clear();
            for (const FetchSetting& setting : extremes()) {
              std::vector<float>& out = outs.emplace_back(static_cast<size_t>(row));
              AttentionWorkspace workspace;
              attention(plan, 0, {.data = q.data(), .row_stride = row, .heads = kKvHeads * group},
                        {.scale = 0.2f}, {.data = out.data()}, workspace,
                        {.threads = 1, .isa = isa, .fetch_bf16 = setting, .fetch_f32 = setting});
              ASSERT_EQ(std::memcmp(out.data(), outs[0].data(), out.size() * sizeof(float)), 0)
                  << name_of(dtype) << " d " << head_dim << " blocks of " << block_tokens
                  << " group " << group << " " << text_of(setting) << " " << name_of(isa);
            }
          }
        }
}

TEST(Fetch, SettingsAreReadAsTheyAreWritten) {
  for (const FetchSetting& setting : extremes()) EXPECT_EQ(parse_fetch(text_of(setting)), setting);
  EXPECT_EQ(text_of(FetchSetting{}), "l1:6144:2048");
}

TEST(Fetch, NonsenseIsRefusedWithWhatIsAccepted) {
  for (const char* text :
       {"", "l1", "l3:64:0", "l1:64", "l1:63:0", "l1:65537:0", "l1:64:65", "l1:64:-1", "l1:64:0:1",
        "l1:a:0", "l1:64:0 ", "l1:99999999999:0", "l1:6144:0:twice", "l1:6144:2048:thrice",
        "l1:6144:twice", "l1:64:65:twice", ":twice"})
    EXPECT_NE(error_of(text).find("level:far:near"), std::string::npos) << text;
}

TEST(Fetch, TheEnvironmentDecidesForEveryContextAndIsNotMeasured) {
  const EnvironmentVariable given("REPRISE_FETCH", "l2:4096:128");
  EXPECT_EQ(Context::machine().fetch_bf16, parse_fetch("l2:4096:128"));
  EXPECT_EQ(Context::machine().fetch_f32, parse_fetch("l2:4096:128"));
  const FetchChoices chosen = calibrate(Context{.threads = 1});
  EXPECT_EQ(chosen.bf16.chosen, "l2:4096:128");
  EXPECT_TRUE(chosen.f32.trials.empty());
}

TEST(Fetch, NonsenseInTheEnvironmentIsNamed) {
  const EnvironmentVariable given("REPRISE_FETCH", "fast");
  try {
    Context::machine();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("REPRISE_FETCH"), std::string::npos) << error.what();
  }
}

TEST(Fetch, CalibrationChoosesAmongWhatItTried) {
  const Context context{.threads = 2, .isa = best_isa()};
  const Calibration<FetchSetting> found = calibrate_fetch(DType::kBF16, context);
  ASSERT_FALSE(found.trials.empty()) << found.reason;
  EXPECT_EQ(found.trials[0].setting, FetchSetting{});
  EXPECT_EQ(found.trials[0].speedup, 1);
  int most_rounds = 0;
  for (const auto& trial : found.trials) most_rounds = std::max(most_rounds, trial.rounds);
  double best = 0;  // best time among those measured in all rounds
  bool is_tried = false;
  for (const auto& trial : found.trials) {
    EXPECT_GT(trial.read_gb_s, 0);
    EXPECT_GT(trial.rounds, 0);
    if (trial.rounds == most_rounds) best = std::max(best, trial.speedup);
    if (trial.setting == found.chosen) {
      is_tried = true;
      EXPECT_EQ(trial.rounds, most_rounds);
      EXPECT_TRUE(trial.speedup > kLeastGain || found.chosen == FetchSetting{});
    }
  }
  EXPECT_TRUE(is_tried);
  EXPECT_TRUE(best > kLeastGain || found.chosen == FetchSetting{});
}

Machine machine_with(const std::string& bf16, const std::string& f32) {
  Machine machine;
  machine.fetch = FetchChoices{};
  machine.fetch->bf16.chosen = bf16;
  machine.fetch->f32.chosen = f32;
  return machine;
}

TEST(Fetch, ARecordsMachineDecidesForAContext) {
  Machine machine = machine_with("l2:8192:0", "l1:64:0");
  machine.fetch->weights_bf16 = FetchChoice{.chosen = "l2:2048"};
  const Context context = with_calibration({.threads = 3}, machine);
  EXPECT_EQ(context.threads, 3);
  EXPECT_EQ(text_of(context.fetch_bf16), "l2:8192:0");
  EXPECT_EQ(text_of(context.fetch_f32), "l1:64:0");
  EXPECT_EQ(text_of(context.weights_bf16), "l2:2048");
  EXPECT_EQ(context.weights_codes, WeightFetch{}) << "a record of an older program";
  EXPECT_EQ(with_calibration({}, Machine{}).fetch_bf16, FetchSetting{});
}

// A machine's choice is read from a file, which somebody may have changed. So an invalid choice
// must be named.
TEST(Fetch, AMachinesChoiceThatIsNoneIsNamed) {
  Machine of_weights = machine_with("l2:8192:0", "l1:64:0");
  of_weights.fetch->weights_codes = FetchChoice{.chosen = "l2:8192:0"};
  for (const auto& [machine, named] :
       {std::pair{machine_with("l9:1:1", "l1:64:0"), "\"fetch.bf16.chosen\""},
        std::pair{machine_with("l2:8192:0", "l2:8192"), "\"fetch.f32.chosen\""},
        std::pair{of_weights, "\"fetch.weights_codes.chosen\""}}) {
    try {
      (void)with_calibration({}, machine);
      ADD_FAILURE() << "no error for " << named;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(named), std::string::npos) << error.what();
    }
  }
}

TEST(Fetch, AFileWithAMalformedChoiceIsNotRead) {
  const Fields good = {{"bf16", Fields{{"chosen", "l2:8192:0"}}},
                       {"f32", Fields{{"chosen", "l1:64:0"}}}};
  EXPECT_EQ(read_fields<Machine>(Fields{{"fetch", good}}).fetch->bf16.chosen, "l2:8192:0");
  Fields number = good, list = good;
  number["bf16"] = Fields{{"chosen", 7}};
  list["bf16"] = Values{};
  for (const auto& [fetch, named] :
       {std::pair{Value(7), "fetch"}, std::pair{Value(Fields{}), "fetch.bf16"},
        std::pair{Value(list), "fetch.bf16"}, std::pair{Value(number), "fetch.bf16.chosen"}}) {
    try {
      (void)read_fields<Machine>(Fields{{"fetch", fetch}});
      ADD_FAILURE() << "no fault of " << named;
    } catch (const FieldFault& fault) {
      EXPECT_EQ(fault.text.substr(0, fault.text.find(' ')), named);
    }
  }
}

}  // namespace
}  // namespace reprise::kernels
