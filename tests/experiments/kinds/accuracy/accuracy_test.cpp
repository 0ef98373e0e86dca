// Tests kind "accuracy" on the shipped model: which modes must answer exactly as the baseline, and
// which differ.
#include "experiments/kinds/accuracy/accuracy.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "results/data_dir.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/experiments/kinds/accuracy/question_items.h"
#include "tests/experiments/kinds/shared/kind_on_tiny_model.h"
#include "tests/experiments/kinds/shared/measured_value.h"
#include "tests/support/data.h"
#include "tests/support/environment.h"
#include "tests/support/json.h"
#include "tests/support/measured.h"

namespace reprise::experiments {
namespace {

using model::expect_error;

const std::vector<std::string> kModes = {"baseline", "isolated", "joint", "scaffold", "repair"};

class Accuracy : public KindOnTinyModel {
 protected:
  void SetUp() override {
    KindOnTinyModel::SetUp();
    write_question_items(dir_ / "items.jsonl");
  }

  Group group(const Json& changes = Json::object()) const {
    Json file = {{"kind", "accuracy"},
                 {"models", {"models/quickstart"}},
                 {"dtypes", {"f32"}},
                 {"series", kModes},
                 {"workload", {{"name", "questions"}, {"file", (dir_ / "items.jsonl").string()}}},
                 {"repetitions", 1}};
    file.merge_patch(changes);
    return group_of(file);
  }
  std::vector<Measured> measure(const Group& one) {
    AccuracyKind kind(context_);
    kind.check(one);
    return measured_json(kind.measure(one, Machine(), stop_));
  }
};

// If modules are encoded together with the text before them, they have the states of the whole
// prompt. The same holds if all their tokens are computed again.
TEST_F(Accuracy, WhatIsEncodedTogetherAnswersAsTheBaseline) {
  const auto measured = measure(group({{"settings", {{"repair_ratio", 1.0}}}}));
  ASSERT_EQ(measured.size(), 5u);
  for (const size_t mode : {0u, 2u, 3u, 4u}) {
    const Measured& same = measured[mode];
    EXPECT_EQ(value_of(same, "same_tokens_ratio"), 1) << kModes[mode];
    EXPECT_EQ(value_of(same, "same_text_ratio"), 1) << kModes[mode];
    EXPECT_EQ(value_of(same, "top_1_ratio"), 1) << kModes[mode];
    EXPECT_LT(value_of(same, "mean_kl"), 1e-8) << kModes[mode];
    EXPECT_EQ(value_of(same, "score"), value_of(measured[0], "score")) << kModes[mode];
    EXPECT_EQ(value_of(same, "choice_score"), value_of(measured[0], "choice_score"));
    EXPECT_EQ(value_of(same, "p_value"), 1) << kModes[mode];
  }
  EXPECT_GT(value_of(measured[1], "mean_kl"), 1e-4) << "isolated modules do not see the others";
}

TEST_F(Accuracy, KeepsALineForEachQuestion) {
  const auto measured = measure(group());
  for (size_t mode = 0; mode < measured.size(); ++mode) {
    const Json& items = measured[mode].answers["items"];
    ASSERT_EQ(items.size(), 4u) << kModes[mode];
    EXPECT_EQ(items[0]["id"], "red key");
    EXPECT_EQ(items[2].contains("choice_right"), true);
    EXPECT_EQ(items[0].contains("choice_right"), false);
    EXPECT_EQ(measured[mode].samples["score"].size(), 4u);
    EXPECT_EQ(measured[mode].samples["choice_score"].size(), 2u);
    EXPECT_EQ(value_of(measured[mode], "questions"), 4);
    EXPECT_GE(value_of(measured[mode], "score"), value_of(measured[mode], "score_low"));
    EXPECT_LE(value_of(measured[mode], "score"), value_of(measured[mode], "score_high"));
    EXPECT_EQ(measured[mode].resolved["questions_tokenized_as_whole"], 0);
    EXPECT_EQ(measured[mode].resolved["modules"], 12);
  }
}

// The results of repair lie between those of isolated states and the baseline's. The more tokens
// are computed again, the nearer they come to the baseline.
TEST_F(Accuracy, RepairComesNearer) {
  std::vector<double> kl;
  for (const double ratio : {0.0, 0.3, 0.8, 1.0}) {
    const auto measured = measure(
        group({{"series", {"isolated", "repair"}}, {"settings", {{"repair_ratio", ratio}}}}));
    if (ratio == 0) {
      EXPECT_EQ(value_of(measured[0], "mean_kl"), value_of(measured[1], "mean_kl"));
    }
    kl.push_back(value_of(measured[1], "mean_kl"));
  }
  EXPECT_LT(kl[2], kl[0]);
  EXPECT_LT(kl[3], 1e-8);
}

// As in the authors' experiments, the only error is that a module does not see the tokens before
// it. So one module loses less than many.
TEST_F(Accuracy, OneModuleLosesLessThanMany) {
  const auto kl = [&](const char* grouping) {
    return value_of(
        measure(group({{"series", {"isolated"}}, {"settings", {{"grouping", grouping}}}}))[0],
        "mean_kl");
  };
  EXPECT_LT(kl("whole"), kl("documents"));
}

TEST_F(Accuracy, AsksWhatTheAxesSay) {
  const auto of = [&](const Json& settings) {
    return measure(group({{"series", {"isolated"}}, {"settings", settings}}))[0];
  };
  EXPECT_EQ(value_of(of({{"task", "choice"}}), "questions"), 2);
  EXPECT_EQ(value_of(of({{"items", 3}}), "questions"), 3);
  EXPECT_FALSE(of({{"task", "single_hop"}}).metrics.contains("choice_score"));
  const auto lines = measure(group({{"series", {"joint"}},
                                    {"workload", {{"name", "line_retrieval"}, {"file", nullptr}}},
                                    {"settings", {{"items", 2}, {"documents", 4}}}}))[0];
  EXPECT_EQ(value_of(lines, "questions"), 2);
  EXPECT_EQ(value_of(lines, "same_tokens_ratio"), 1);
  EXPECT_EQ(lines.resolved["modules"], 8);
}

TEST_F(Accuracy, SmallStepsAnswerAlike) {
  const auto whole = measure(group({{"series", {"isolated"}}}));
  const auto pieces =
      measure(group({{"series", {"isolated"}}, {"settings", {{"prefill_chunk", 7}}}}));
  EXPECT_EQ(whole[0].answers["items"][1]["text"], pieces[0].answers["items"][1]["text"]);
  EXPECT_NEAR(value_of(whole[0], "mean_kl"), value_of(pieces[0], "mean_kl"), 1e-5);
}

TEST_F(Accuracy, WhatCannotBeAskedIsRefused) {
  const auto refused = [&](const Json& changes, std::initializer_list<std::string> parts) {
    expect_error(
        [&] {
          AccuracyKind kind(context_);
          kind.check(group(changes));
        },
        parts);
  };
  refused({{"series", nullptr}, {"methods", {"contiguous"}}},
          {"method \"contiguous\" does not run in kind \"accuracy\"", "baseline"});
  refused({{"series", {"contiguous"}}}, {"\"contiguous\" is a method", "baseline"});
  refused({{"settings", {{"task", "two_hop"}}}}, {"two_hop", "choice, single_hop"});
  refused({{"settings", {{"task", "two_hops"}}}}, {"did you mean \"two_hop\"?"});
  refused({{"workload", {{"file", "absent.jsonl"}}}}, {"absent.jsonl"});
  refused({{"workload", "random_tokens"}}, {"random_tokens", "questions"});
  refused({{"workload", nullptr}}, {"\"workload\"", "missing"});
  refused({{"workload", {{"name", "line_retrieval"}, {"file", nullptr}}},
           {"settings", {{"documents", 400}}}},
          {"2048"});
  refused({{"models", {{{"model", dir_.string()}, {"weights", "random"}}}}}, {"tokenizer"});
  refused({{"models", {"no/such/model"}}, {"workload", {{"file", "absent.jsonl"}}}},
          {"no/such/model", "absent.jsonl"});
}

// The measurement uses the questions that check() has read and tokenized.
TEST_F(Accuracy, QuestionsAreReadOnceForAllThatIsDoneWithAGroup) {
  AccuracyKind kind(context_);
  const Group one = group({{"series", {"isolated"}}}), other = group({{"series", {"joint"}}});
  kind.check(one);
  std::filesystem::remove(dir_ / "items.jsonl");
  EXPECT_GT(kind.memory_need(one).bytes, 0);
  EXPECT_EQ(value_of(measured_json(kind.measure(one, Machine(), stop_))[0], "questions"), 4);
  expect_error([&] { kind.check(other); }, {"items.jsonl"});
}

// The recall models' items have LongBench's form and are scored as there, once with one module for
// all documents and once with a module for each document.
TEST_F(Accuracy, LongBenchIsScoredByItsOwnMetric) {
  const auto of = [&](const char* grouping) {
    return measure(
        group({{"models", {"models/recall/llama"}},
               {"series", {"baseline", "isolated", "joint"}},
               {"workload", {{"name", "longbench"}, {"file", "models/recall/longbench"}}},
               {"settings", {{"task", "musique"}, {"grouping", grouping}}}}));
  };
  const auto documents = of("documents"), whole = of("whole");
  EXPECT_EQ(value_of(documents[0], "questions"), 20);
  EXPECT_EQ(value_of(documents[0], "score"), 1) << "the model answers when it sees everything";
  EXPECT_LT(value_of(documents[1], "score"), 1) << "half of these questions need two passages";
  EXPECT_GT(value_of(documents[1], "score"), 0.3);
  for (const Measured& measured : {documents[2], whole[0], whole[1], whole[2]}) {
    EXPECT_EQ(value_of(measured, "score"), 1);
    EXPECT_LT(value_of(measured, "mean_kl"), 1e-6);
  }
  EXPECT_GT(documents[1].resolved["modules"].get<int>(), 20);
  EXPECT_EQ(whole[1].resolved["modules"], 20);
  EXPECT_EQ(whole[1].resolved["questions_cut"], 0);
}

// The questions are about a real meeting, which is cut to what the shipped model has positions for.
// The model was trained on other texts, so its answers score next to nothing.
TEST_F(Accuracy, QmsumIsAskedFromItsOwnFile) {
  REPRISE_NEEDS_DATA();
  const auto folder = reprise::testing::data_dir() / "datasets" / "longcontext";
  const auto of = [&](const Json& settings) {
    Json all = {{"task", "qmsum"}, {"items", 3}, {"most_prompt_tokens", 300}};
    all.update(settings);
    return measure(group({{"series", {"baseline", "isolated", "joint"}},
                          {"workload",
                           {{"name", "longbench"},
                            {"file", (folder / "qmsum_test.jsonl").string()},
                            {"templates", (folder / "longbench_config").string()}}},
                          {"settings", all}}));
  };
  const auto measured = of({{"most_answer_tokens", 20}});
  for (const Measured& mode : measured) {
    EXPECT_EQ(value_of(mode, "questions"), 3);
    EXPECT_EQ(mode.resolved["questions_cut"], 3);
    EXPECT_NEAR(mode.resolved["longest_prompt_tokens"].get<double>(), 300, 8);
    EXPECT_LT(value_of(mode, "score"), 0.5);
    EXPECT_GE(value_of(mode, "score"), 0);
    for (const Json& item : mode.answers["items"]) EXPECT_LE(item["tokens"], 20);
  }
  EXPECT_GT(value_of(measured[1], "mean_kl"), 0) << "the module does not see the instruction";
  EXPECT_EQ(value_of(measured[2], "same_tokens_ratio"), 1);
  EXPECT_LT(value_of(measured[2], "mean_kl"), 1e-6);
}

TEST_F(Accuracy, ShippedFilesCanBeRun) {
  const auto folder = results::data_dir() / "experiments" / "prompt_cache";
  for (const char* name : {"retrieval_accuracy.json"})
    for (const char* scale : {"smoke", "desk", "paper"}) {
      const Experiment experiment = load_experiment(folder / name, scale, {}, known_vocabulary());
      AccuracyKind kind(context_);
      for (const Group& one : expand(experiment, {.context = context_, .device = Device::kCpu}))
        EXPECT_NO_THROW(kind.check(one)) << name << " " << scale << " " << one.label;
    }
}

// The paper's table 1 uses checkpoints that a user must have; its smoke scale uses the shipped
// models.
TEST_F(Accuracy, Table1RunsWhereItsCheckpointsAre) {
  const reprise::testing::EnvironmentVariable data("REPRISE_DATA", ""),
      cache("XDG_CACHE_HOME", "/nowhere");  // hides what this user has fetched
  const auto file = results::data_dir() / "experiments" / "prompt_cache" / "table1.json";
  const auto groups = [&](const char* scale, const std::vector<std::string>& overrides) {
    return expand(load_experiment(file, scale, overrides, known_vocabulary()),
                  {.context = context_, .device = Device::kCpu});
  };
  AccuracyKind kind(context_);
  const std::vector<Group> smoke = groups("smoke", {});
  EXPECT_EQ(smoke.size(), 3u * 2u * 2u);
  for (const Group& one : smoke) EXPECT_NO_THROW(kind.check(one)) << one.label;
  EXPECT_EQ(groups("paper", {}).size(), 4u * 8u * 2u);
  expect_error([&] { kind.check(groups("paper", {})[0]); },
               {"checkpoints/llama-2-7b", "reprise data get longbench"});
  const std::vector<std::string> shipped = {"models=models/quickstart", "dtypes=f32",
                                            "workload.file=models/recall/longbench",
                                            "workload.templates=models/recall/longbench"};
  for (const Group& one : groups("desk", {})) EXPECT_NO_THROW(kind.check(one)) << one.label;
  const std::vector<Group> named = groups("paper", shipped);
  EXPECT_NO_THROW(kind.check(named[2])) << named[2].label;  // 2wikimqa
  expect_error([&] { kind.check(named[0]); }, {"narrativeqa.jsonl", "2wikimqa, musique"});
  expect_error(
      [&] {
        kind.check(groups("paper", {"models=models/quickstart", "dtypes=f32"})[0]);
      },
      {"LongBench/data is not here", "reprise data get longbench"});
}

TEST_F(Accuracy, RaisedStopGivesTheGroupUp) {
  stop_ = true;
  EXPECT_THROW((void)measure(group()), Interrupted);
}

}  // namespace
}  // namespace reprise::experiments
