// Tests scores of items that are right or wrong, mixed with items of LongBench.
#include "workloads/questions/judge.h"

#include <gtest/gtest.h>

#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/named_python.h"
#include "workloads/longbench/metrics.h"
#include "workloads/longbench/rouge.h"

namespace reprise::workloads::questions {
namespace {

using model::expect_error;
using Scores = std::vector<double>;
using Texts = std::vector<std::string>;

Item of_dataset(const std::string& dataset, const Texts& answers, const Texts& classes = {}) {
  return {.id = dataset + "-1",
          .task = dataset,
          .answers = answers,
          .classes = classes,
          .judgement = Judgement::kLongBench};
}

TEST(ScoresOf, AreEachItemsOwn) {
  const std::vector<Item> items = {
      {.answers = {"Rome"}},
      of_dataset("hotpotqa", {"the blue house", "a tree"}),
      {.answers = {"12"}, .judgement = Judgement::kLastNumber},
      of_dataset("trec", {"Food"}, {"Food", "Animal"}),
      of_dataset("hotpotqa", {"Ada"}),
      of_dataset("qmsum", {"they met at noon"}),
      of_dataset("trec", {"Food"}, {"Food", "Animal"}),
  };
  const Texts generated = {"Rome\nmore", "a blue house",   "no",          "Food or Animal",
                           "Bob",        "they met again", "Animal\nFood"};
  EXPECT_EQ(scores_of(items, generated),
            (Scores{1, longbench::qa_f1("a blue house", "the blue house"), 0, 0.5, 0,
                    longbench::rouge_l("they met again", "they met at noon"), 0}));
  EXPECT_EQ(longbench::qa_f1("a blue house", "the blue house"), 1) << "articles do not count";
}

TEST(CheckScorable, NamesTheQuestionBeforeAnythingIsGenerated) {
  const auto refused = [](const Item& item, std::initializer_list<std::string> parts) {
    expect_error(
        [&] {
          check_scorable(std::vector<Item>{of_dataset("qmsum", {"x"}), item});
        },
        parts);
  };
  EXPECT_NO_THROW(check_scorable(std::vector<Item>{of_dataset("trec", {"a"}, {"a", "b"})}));
  refused(of_dataset("trec", {"a"}), {"question trec-1", "all_classes"});
  refused(of_dataset("passage_retrieval_en", {"two"}), {"question passage_retrieval_en-1"});
}

// The error names the remedy, before a model is loaded.
TEST(CheckScorable, ChineseSetsNeedJieba) {
  const testing::NamedPython absent("/absent/python3");
  expect_error([] { check_scorable(std::vector<Item>{of_dataset("dureader", {"\u6587"})}); },
               {"/absent/python3", "jieba"});
  EXPECT_NO_THROW(check_scorable(std::vector<Item>{of_dataset("qmsum", {"x"})}));
}

}  // namespace
}  // namespace reprise::workloads::questions
