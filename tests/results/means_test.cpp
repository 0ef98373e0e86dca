#include "results/means.h"

#include <gtest/gtest.h>

#include "results/paper_numbers.h"

namespace reprise::results {
namespace {

Record record(const char* method, const char* set, double score) {
  Record made;
  made.point = std::string(method) + set;
  made.settings.requested = {{"method", method}, {"set", set}, {"model", "m"}};
  made.settings.resolved = made.settings.requested;
  made.metrics["score"] = {.value = score, .unit = "ratio"};
  return made;
}

ResultsFolder folder(std::vector<Record> records) {
  ResultsFolder made;
  made.run.mean_over = "set";
  made.run.settings.axes["set"] = Values{Value("a"), Value("b")};
  made.records = std::move(records);
  return made;
}

TEST(Means, AreOfRecordsThatDifferInTheAxisAlone) {
  std::vector<Record> records = {record("x", "a", 0.2), record("y", "a", 0.5),
                                 record("x", "b", 0.6), record("y", "b", 0.7)};
  records[0].metrics["speed"] = {.value = 1, .unit = "ratio"};  // x at b has none
  const std::vector<Record> means = means_of(folder(records));
  ASSERT_EQ(means.size(), 2u);
  EXPECT_EQ(text_of(means[0].settings.requested, "method"), "x");
  EXPECT_EQ(text_of(means[0].settings.requested, "set"), kMeanSetting);
  EXPECT_DOUBLE_EQ(means[0].metrics.at("score").value, 0.4);
  EXPECT_EQ(means[0].metrics.at("score").unit, "ratio");
  EXPECT_FALSE(means[0].metrics.contains("speed"));
  EXPECT_DOUBLE_EQ(means[1].metrics.at("score").value, 0.6);
  EXPECT_NE(means[0].point, means[1].point);
}

// The gamma of a mean row is computed from the mean loss and the mean speed-up, as in the paper.
TEST(Means, OfADegradationIsThatOfTheMeans) {
  std::vector<Record> records = {record("x", "a", 0.2), record("x", "b", 0.6)};
  const auto set = [&](size_t i, double loss, double speedup) {
    records[i].metrics["score_loss"] = {.value = loss, .unit = "ratio"};
    records[i].metrics["text_speedup"] = {.value = speedup, .unit = "ratio"};
    records[i].metrics["speedup_degradation"] = {.value = loss / (speedup - 1), .unit = "ratio"};
    records[i].metrics["score_low"] = {.value = 0, .unit = "ratio"};
  };
  set(0, 0.1, 1.1);
  set(1, 0.3, 1.5);
  const Metrics means = means_of(folder(records)).at(0).metrics;
  EXPECT_DOUBLE_EQ(means.at("speedup_degradation").value, 0.2 / 0.3);
  EXPECT_FALSE(means.contains("score_low"));
  set(0, 0.1, 0.5);
  EXPECT_FALSE(means_of(folder(records)).at(0).metrics.contains("speedup_degradation"));
}

// Mean rows show the papers' averages. If a paper's row names a preset, it is shown only at records
// of this preset.
TEST(Means, HaveThePapersAverages) {
  std::vector<Record> records = {record("san", "sts12", 0.2), record("san", "sts13", 0.6)};
  for (Record& one : records)
    for (Fields* settings : {&one.settings.requested, &one.settings.resolved}) {
      (*settings)["model"] = "checkpoints/llama-2-7b";
      (*settings)["workload"] = Fields{{"name", "sentence_pairs"}, {"file", "sts"}};
      (*settings)["method_options"] = Fields();
    }
  ResultsFolder both = folder(records);
  both.run.settings.axes["set"] = Values{Value("sts12"), Value("sts13")};
  std::vector<Record> all = means_of(both);
  ASSERT_EQ(all.size(), 1u);
  Record cached = records[0];
  cached.point = "cached";
  for (Fields* settings : {&cached.settings.requested, &cached.settings.resolved})
    (*settings)["method"] = "attn_cache";
  cached.settings.requested["method_options"] = Fields{{"preset", "as_published"}};
  cached.settings.resolved["method_options"] = Fields{{"threshold", 0.99}};
  all.push_back(cached);
  const auto papers = paper_points({load_paper_numbers("attn_cache_table2")}, all);
  ASSERT_EQ(papers.size(), 1u);
  EXPECT_EQ(papers[0].value(all[0], "score"), 0.3034);
  EXPECT_EQ(papers[0].value(all[0], "text_speedup"), 1.45);
  EXPECT_EQ(papers[0].value(cached, "score"), 0.6059);
}

// A combination has the paper's number of that combination or none, never that of AttnCache alone.
TEST(Means, OfCombinedMethodsAreNotThoseOfOne) {
  const auto score = [](const char* weights, const char* set, const char* beside) {
    Record one = record("attn_cache", set, 0.5);
    Fields options = {{"preset", "as_published"}};
    if (*beside != '\0') options["beside"] = Fields{{"method", beside}};
    for (Fields* settings : {&one.settings.requested, &one.settings.resolved}) {
      (*settings)["model"] = "checkpoints/llama-3.2-3b";
      (*settings)["workload"] = Fields{{"name", "sentence_pairs"}, {"file", "sts"}};
      (*settings)["weight_format"] = weights;
      (*settings)["method_options"] = options;
    }
    const auto papers = paper_points({load_paper_numbers("attn_cache_table8")}, {one});
    return papers.empty() ? std::nullopt : papers[0].value(one, "score");
  };
  EXPECT_EQ(score("f32", "mean", ""), 0.7157);
  EXPECT_EQ(score("f32", "mean", "attn_drop"), 0.6855);
  EXPECT_EQ(score("f32", "mean", "block_drop"), 0.6545);
  EXPECT_EQ(score("f32", "sts13", "attn_drop"), 0.7321);
  EXPECT_EQ(score("int4", "mean", ""), 0.701);
  for (const char* set : {"mean", "sts13"})
    for (const char* beside : {"attn_drop", "block_drop"})
      EXPECT_FALSE(score("int4", set, beside).has_value()) << set << " " << beside;
}

TEST(Means, AreNotOfInvalidRuns) {
  std::vector<Record> records = {record("x", "a", 0.2), record("y", "a", 0.5),
                                 record("x", "b", 0.6), record("y", "b", 0.7)};
  records[2].answers["verdict"] = "INVALID";
  records[3].answers["verdict"] = "VALID";
  const std::vector<Record> means = means_of(folder(records));
  ASSERT_EQ(means.size(), 1u);
  EXPECT_EQ(text_of(means[0].settings.requested, "method"), "y");
}

TEST(Means, AreNotOfSpeedupsOverInvalidRuns) {
  std::vector<Record> records = {record("x", "a", 0.2), record("y", "a", 0.5),
                                 record("x", "b", 0.6), record("y", "b", 0.7)};
  for (size_t i = 0; i < records.size(); ++i) {
    records[i].group = {.id = i < 2 ? "a" : "b", .index = i % 2 == 0 ? 0 : 1, .of = 2};
    records[i].answers["verdict"] = "VALID";
    records[i].metrics["throughput_speedup"] = {.value = 2, .unit = "ratio"};
  }
  EXPECT_TRUE(means_of(folder(records)).at(1).metrics.contains("throughput_speedup"));
  records[2].answers["verdict"] = "INVALID";
  const std::vector<Record> means = means_of(folder(records));
  ASSERT_EQ(means.size(), 1u);
  EXPECT_FALSE(means[0].metrics.contains("throughput_speedup"));
  EXPECT_DOUBLE_EQ(means[0].metrics.at("score").value, 0.6);
}

TEST(Means, AreNotOfPartOfTheAxis) {
  EXPECT_TRUE(means_of(folder({record("x", "a", 0.2)})).empty());
  ResultsFolder one_value = folder({record("x", "a", 0.2)});
  one_value.run.settings.axes["set"] = Values{Value("a")};
  EXPECT_TRUE(means_of(one_value).empty());
  ResultsFolder none = folder({record("x", "a", 0.2), record("x", "b", 0.6)});
  none.run.mean_over = "";
  EXPECT_TRUE(means_of(none).empty());
}

}  // namespace
}  // namespace reprise::results
