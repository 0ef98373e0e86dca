// Tests MMLU's questions in a serving run: which answers count as right, and that the kind reports
// their share.
#include "experiments/kinds/serving/answer_accuracy.h"

#include <gtest/gtest.h>

#include "experiments/kinds/serving/serving.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/experiments/kinds/shared/kind_on_tiny_model.h"
#include "tests/experiments/kinds/shared/measured_value.h"
#include "tests/support/json.h"
#include "tests/support/measured.h"
#include "workloads/serving/registry.h"

namespace reprise::experiments {
namespace {

using model::TempDir;
using serving::Outcome;

std::shared_ptr<const Tokenizer> shipped_tokenizer() {
  return load_tokenizer(std::filesystem::path(REPRISE_SOURCE_DIR) / "models/quickstart");
}

// Four questions whose answers are A, B, C and D.
std::filesystem::path questions_in(const TempDir& dir) {
  dir.write("art_dev.csv", "One?,a,b,c,d,C\n");
  return dir.write("art_test.csv", "1?,a,b,c,d,A\n2?,a,b,c,d,B\n3?,a,b,c,d,C\n4?,a,b,c,d,D\n");
}

TEST(AnswerAccuracy, CountsTheFirstCapitalBeforeTheEndTokenOfServedRequests) {
  const TempDir dir;
  const auto tokenizer = shipped_tokenizer();
  const auto source =
      workloads::make_request_source("mmlu", {.file = questions_in(dir),
                                              .vocab = tokenizer->vocab_size(),
                                              .tokenizer = [&] { return tokenizer; },
                                              .order = "recorded",
                                              .shots = 1});
  ASSERT_TRUE(has_answers(*source));
  ASSERT_TRUE(tokenizer->eos_id().has_value());
  const auto tokens = [&](const char* text) {
    return tokenizer->encode(text, {.add_special = false});
  };
  serving::RequestLog log;
  for (const char* answer : {"it is A", "The B", "it ends", "D"})
    log.requests.push_back({.index = std::ssize(log.requests), .tokens = tokens(answer)});
  log.requests[2].tokens.push_back(*tokenizer->eos_id());  // whatever follows is no answer
  for (const int32_t token : tokens("C")) log.requests[2].tokens.push_back(token);

  Measurement out;
  add_accuracy(log, *source, *tokenizer, {}, out);
  EXPECT_DOUBLE_EQ(out.value(answer_accuracy_metrics()[0]), 0.5);
  EXPECT_GT(out.value(answer_accuracy_metrics()[1]), 0.1);
  EXPECT_LT(out.value(answer_accuracy_metrics()[2]), 0.9);

  log.requests[0].outcome = Outcome::kFailed;
  Measurement of_served;
  add_accuracy(log, *source, *tokenizer, {}, of_served);
  EXPECT_DOUBLE_EQ(of_served.value(answer_accuracy_metrics()[0]), 1.0 / 3);

  // A model may have end tokens besides the tokenizer's.
  const std::vector<int64_t> end_ids = {tokens("it").front()};
  log.requests = {{.index = 1, .tokens = tokens("it")}};
  for (const int32_t token : tokens("B")) log.requests[0].tokens.push_back(token);
  Measurement whole, cut;
  add_accuracy(log, *source, *tokenizer, {}, whole);
  add_accuracy(log, *source, *tokenizer, end_ids, cut);
  EXPECT_EQ(whole.value(answer_accuracy_metrics()[0]), 1);
  EXPECT_EQ(cut.value(answer_accuracy_metrics()[0]), 0);
}

class AnswerAccuracyRun : public KindOnTinyModel {
 protected:
  std::vector<Measured> measured(const std::string& file, const Json& changes) {
    Json given = {{"kind", "serving"},
                  {"models", {"models/quickstart"}},
                  {"dtypes", {"f32"}},
                  {"methods", {"paged", "relay_attention"}},
                  {"workload", {{"name", "mmlu"}, {"file", file}}},
                  {"settings",
                   {{"shots", 1},
                    {"question_template", "vllm_ra"},
                    {"output_tokens", 8},
                    {"arrivals", "closed"},
                    {"most_in_flight", 4},
                    {"least_duration_s", 0}}},
                  {"repetitions", 1},
                  {"warmup", 0}};
    given.merge_patch(changes);
    const Group group = group_of(given);
    ServingKind kind(context_);
    kind.check(group);
    return measured_json(kind.measure(group, Machine(), stop_));
  }
};

TEST_F(AnswerAccuracyRun, StandsBesideTheTimesOfEveryMethod) {
  const TempDir dir;
  const std::vector<Measured> runs = measured(questions_in(dir).string(), Json::object());
  ASSERT_EQ(runs.size(), 2u);
  for (const Measured& run : runs) {
    EXPECT_LE(value_of(run, "accuracy_low"), value_of(run, "accuracy"));
    EXPECT_LE(value_of(run, "accuracy"), value_of(run, "accuracy_high"));
    EXPECT_LT(value_of(run, "accuracy_low"), value_of(run, "accuracy_high"));
    EXPECT_EQ(value_of(run, "accuracy"), value_of(runs[0], "accuracy"));
    EXPECT_TRUE(run.metrics.contains("whole_s"));
  }
}

// RelayAttention's table 2 has the prices, its table 3 the times.
TEST_F(AnswerAccuracyRun, TimesHaveAPriceIfTheMachineHasOne) {
  const TempDir dir;
  const std::string file = questions_in(dir).string();
  for (const Measured& run : measured(file, {{"settings", {{"usd_per_hour", 7.2}}}}))
    EXPECT_NEAR(value_of(run, "usd_per_1000_requests"),
                7.2 / 3600 * value_of(run, "whole_s") * 1000 / value_of(run, "ended_requests"),
                1e-9);
  for (const Measured& run : measured(file, Json::object()))
    EXPECT_FALSE(run.metrics.contains("usd_per_1000_requests"));
}

TEST_F(AnswerAccuracyRun, IsNotOfRandomWeights) {
  const TempDir dir;
  const Json random = {{"models", {{{"model", "models/quickstart"}, {"weights", "random"}}}}};
  for (const Measured& run : measured(questions_in(dir).string(), random))
    EXPECT_FALSE(run.metrics.contains("accuracy"));
}

}  // namespace
}  // namespace reprise::experiments
