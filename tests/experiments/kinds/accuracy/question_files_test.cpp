// Tests which questions an experiment's workload asks.
#include "experiments/kinds/accuracy/question_files.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/json.h"
#include "tests/support/named_python.h"

namespace reprise::experiments {
namespace {

using model::expect_error;
using model::TempDir;

std::string line(const std::string& id, const std::string& task) {
  return Json({{"id", id},
               {"task", task},
               {"preamble", ""},
               {"documents", Json::array({"A fact.\n"})},
               {"question", "Q?\nA:"},
               {"answers", Json::array({"x"})},
               {"choices", nullptr}})
             .dump() +
         "\n";
}

TEST(LoadQuestions, TakesThoseOfATaskAndTheFirstOfThem) {
  const TempDir dir;
  const std::string file = dir.write("q.jsonl", line("a", "two_hop") + line("b", "single_hop") +
                                                    line("c", "two_hop") + line("d", "two_hop"))
                               .string();
  const Workload workload{.name = "questions", .file = file};
  EXPECT_EQ(load_questions(workload, {}).size(), 4u);
  EXPECT_EQ(load_questions(workload, {.items = 3}).size(), 3u);
  EXPECT_EQ(load_questions(workload, {.items = 30}).size(), 4u);
  const auto items = load_questions(workload, {.task = "two_hop", .items = 2});
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].id, "a");
  EXPECT_EQ(items[1].id, "c");
  expect_error([&] { (void)load_questions(workload, {.task = "choice"}); },
               {"q.jsonl", "task choice", "single_hop, two_hop"});
}

TEST(LoadQuestions, MakesUpAsManyAsAreAskedFor) {
  EXPECT_EQ(load_questions({.name = "line_retrieval", .file = ""}, {}).size(), 50u);
  const auto lines = load_questions({.name = "line_retrieval", .file = ""},
                                    {.items = 3, .documents = 7, .seed = 2});
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].documents.size(), 7u);
  const auto topics =
      load_questions({.name = "topic_retrieval", .file = ""}, {.items = 2, .documents = 4});
  EXPECT_EQ(topics.at(1).documents.size(), 4u);
}

TEST(LoadQuestions, ReadsMmluWithAsManyExamples) {
  const TempDir dir;
  dir.write("art_dev.csv", "One?,a,b,c,d,C\nTwo?,e,f,g,h,A\n");
  const std::string file = dir.write("art_test.csv", "Three?,i,j,k,l,D\n").string();
  EXPECT_EQ(
      load_questions({.name = "mmlu", .file = file}, {.mmlu = {.shots = 1}}).at(0).documents.size(),
      1u);
}

TEST(LoadQuestions, ReadsLongBenchByDataset) {
  const Workload workload{.name = "longbench", .file = "models/recall/longbench"};
  EXPECT_EQ(load_questions(workload, {}).size(), 30u);
  const auto items = load_questions(workload, {.task = "musique", .items = 3, .answer_tokens = 9});
  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(items[0].task, "musique");
  EXPECT_GE(items[0].documents.size(), 3u);
  EXPECT_EQ(items[0].most_answer_tokens, 9);
  const auto whole = load_questions(workload, {.task = "musique", .cuts_documents = false});
  EXPECT_EQ(whole[0].documents.size(), 1u);
  EXPECT_EQ(whole[0].text(), items[0].text());
  EXPECT_EQ(whole[0].most_answer_tokens, 2);
  expect_error([&] { (void)load_questions(workload, {.task = "trec"}); },
               {"trec.jsonl", "2wikimqa, musique"});
}

// Refuses, before anything is generated, a classification without its classes and a Chinese set
// without jieba.
TEST(LoadQuestions, RefusesAnswersThatCouldNotBeScored) {
  const TempDir dir;
  Json sample = {
      {"input", "Type:"},  {"context", "Question: a\n"}, {"answers", {"Food"}},    {"length", 2},
      {"dataset", "trec"}, {"language", "en"},           {"all_classes", nullptr}, {"_id", "t1"}};
  dir.write("dataset2prompt.json",
            R"({"trec": "{context}{input}", "dureader": "{context}{input}"})");
  dir.write("dataset2maxlen.json", R"({"trec": 4, "dureader": 4})");
  const auto load = [&] {
    const auto file = dir.write("any.jsonl", sample.dump()).string();
    (void)load_questions({.name = "longbench", .file = file}, {.cuts_documents = false});
  };
  expect_error(load, {"question t1", "all_classes"});
  sample["all_classes"] = {"Food", "Animal"};
  EXPECT_NO_THROW(load());
  sample["dataset"] = "dureader";
  const reprise::testing::NamedPython absent("/absent/python3");
  expect_error(load, {"/absent/python3", "jieba"});
}

TEST(QuestionWorkloads, AreAllLoadable) {
  for (const workloads::WorkloadInfo& info : question_workloads()) {
    EXPECT_FALSE(info.summary.empty());
    const Workload workload{.name = info.name,
                            .file = info.takes_file ? "/absent/art_test.csv" : ""};
    if (info.takes_file)
      expect_error([&] { (void)load_questions(workload, {}); }, {"/absent/art_"});
    else
      EXPECT_NO_THROW((void)load_questions(workload, {.items = 1}));
  }
}

}  // namespace
}  // namespace reprise::experiments
