// Tests files of predictions and their scores.
#include "workloads/longbench/score.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/named_python.h"
#include "workloads/longbench/words.h"

namespace reprise::workloads::longbench {
namespace {

using model::expect_error;
using model::TempDir;
using reprise::testing::NamedPython;
using Scores = std::vector<double>;

Prediction prediction(const std::string& text, std::vector<std::string> answers,
                      std::vector<std::string> classes = {}) {
  return {.text = text, .answers = std::move(answers), .classes = std::move(classes), .length = {}};
}

Scores scores(const char* dataset, const std::vector<Prediction>& predictions,
              const ScoreOptions& options = {}) {
  return score(find_dataset(dataset), predictions, options);
}

TEST(Score, CountsTheBestAnswer) {
  EXPECT_EQ(scores("hotpotqa", {prediction("b", {"a", "b", "b c"}), prediction("x", {"a"})}),
            (Scores{1, 0}));
}

TEST(Score, LooksAtTheFirstLineOfFewShotAnswersAlone) {
  EXPECT_EQ(scores("triviaqa", {prediction("\nParis\n\nPassage: more", {"Paris"})}), Scores{1});
  EXPECT_LT(scores("hotpotqa", {prediction("\nParis\n\nPassage: more", {"Paris"})})[0], 1);
  EXPECT_EQ(scores("trec", {prediction("Food\nAnimal", {"Food"}, {"Food", "Animal"})}), Scores{1});
}

TEST(Score, AsksEachDatasetsOwnScorer) {
  EXPECT_EQ(scores("passage_count", {prediction("5", {"5"})}), Scores{1});
  EXPECT_EQ(scores("passage_retrieval_en", {prediction("5", {"Paragraph 5"})}), Scores{1});
  EXPECT_EQ(scores("passage_retrieval_zh", {prediction("5", {"\u6bb5\u843d5"})}), Scores{1});
  EXPECT_DOUBLE_EQ(scores("gov_report", {prediction("a b", {"a b"})})[0], 0.999999995);
  EXPECT_EQ(scores("lcc", {prediction("# x\n1a2b3c4dXYZ", {"XYZabcd"})}), Scores{0.33});
  EXPECT_EQ(scores("repobench-p", {prediction("1a2b3c4dXYZ", {"XYZabcd"})},
                   {.line_matcher = LineMatcher::kLevenshtein}),
            Scores{0.44});
}

TEST(Score, GivesLongTextsZeroUnlessTheLimitIsLifted) {
  std::string text;
  for (int i = 0; i < 991; ++i) text += fmt::format("w{} ", i);
  EXPECT_EQ(scores("gov_report", {prediction(text, {text})}), Scores{0});
  EXPECT_GT(scores("gov_report", {prediction(text, {text})}, {.is_rouge_limited = false})[0], 0.99);
}

TEST(Score, NamesThePredictionThatCannotBeScored) {
  expect_error(
      [] {
        scores("trec", {prediction("x", {"x"}, {"x"}), prediction("x", {"x"})});
      },
      {"prediction 2", "all_classes"});
  expect_error([] { scores("passage_retrieval_en", {prediction("5", {"5"})}); },
               {"prediction 1", "Paragraph"});
}

TEST(MeanPercent, HasTwoDigits) {
  EXPECT_EQ(mean_percent(Scores{1, 0.5, 0}), "50.00");
  EXPECT_EQ(mean_percent(Scores{1, 0, 0}), "33.33");
  EXPECT_EQ(mean_percent(Scores{}), "-");
  // The mean of 11.5 of 80: the official scorer() prints 14.38, scorer_e() prints 14.37.
  Scores scores(80, 0);
  std::fill_n(scores.begin(), 11, 1);
  scores.back() = 0.5;
  EXPECT_EQ(mean_percent(scores), "14.38");
  EXPECT_EQ(group_percent(scores), "14.37");
  EXPECT_EQ(group_percent(Scores(300, 0.1)), "10.00");
  EXPECT_EQ(group_percent(Scores{0.27765}), "27.76");  // rint(2776.5) / 100
  EXPECT_EQ(group_percent(Scores{}), "-");
}

TEST(ByLength, PutsScoresIntoThreeGroups) {
  std::vector<Prediction> predictions(4, prediction("x", {"x"}));
  const int64_t lengths[] = {3999, 4000, 7999, 8000};
  for (size_t i = 0; i < 4; ++i) predictions[i].length = lengths[i];
  const auto groups = by_length(predictions, Scores{0.1, 0.2, 0.3, 0.4});
  EXPECT_EQ(groups[0], Scores{0.1});
  EXPECT_EQ(groups[1], (Scores{0.2, 0.3}));
  EXPECT_EQ(groups[2], Scores{0.4});
  predictions[2].length.reset();
  expect_error(
      [&] {
        (void)by_length(predictions, Scores{0, 0, 0, 0});
      },
      {"prediction 3", "length"});
}

TEST(LoadPredictions, ReadsWhatTheOfficialProgramWrites) {
  const TempDir dir;
  const auto predictions = load_predictions(dir.write(
      "trec.jsonl", R"({"pred": "Food", "answers": ["Food"], "all_classes": ["Food"], "length": 7})"
                    "\n"
                    R"({"pred": "", "answers": ["a", "b"], "all_classes": null, "_id": "1"})"));
  ASSERT_EQ(predictions.size(), 2u);
  EXPECT_EQ(predictions[0].text, "Food");
  EXPECT_EQ(predictions[0].classes, std::vector<std::string>{"Food"});
  EXPECT_EQ(predictions[0].length, 7);
  EXPECT_EQ(predictions[1].answers.size(), 2u);
  EXPECT_FALSE(predictions[1].length.has_value());
  expect_error([&] { (void)load_predictions(dir.write("p.jsonl", R"({"pred": 1})")); },
               {"p.jsonl:1", "\"pred\""});
  expect_error(
      [&] { (void)load_predictions(dir.write("p.jsonl", R"({"pred": "", "answer": []})")); },
      {"p.jsonl:1", "\"answers\""});
}

TEST(CutWords, WithoutJiebaNamesThePackage) {
  const NamedPython python("/bin/false");
  expect_error([] { (void)cut_words({"\u6211"}); },
               {"REPRISE_PYTHON", "/bin/false", "jieba", "python3-jieba"});
  EXPECT_TRUE(cut_words({}).empty());  // without texts, jieba is not needed
}

std::string jieba_python() {
  try {
    return find_jieba_python();
  } catch (const Error&) {
    return "";
  }
}

TEST(CutWords, AreWhatJiebaFinds) {
  const std::string python = jieba_python();
  if (python.empty()) GTEST_SKIP() << "no Python here can import jieba (python3-jieba)";
  // jieba's own first example.
  const std::string text = "\u6211\u6765\u5230\u5317\u4eac\u6e05\u534e\u5927\u5b66";
  const auto words = cut_words({text, "", "a \"b\"\n"}, python);
  ASSERT_EQ(words.size(), 3u);
  EXPECT_EQ(words[0], (std::vector<std::string>{"\u6211", "\u6765\u5230", "\u5317\u4eac",
                                                "\u6e05\u534e\u5927\u5b66"}));
  EXPECT_TRUE(words[1].empty());
  std::string together;
  for (const std::string& word : words[2]) together += word;
  EXPECT_EQ(together, "a \"b\"\n");
}

TEST(CutWords, TellsWhatItsPythonSaid) {
  expect_error([] { (void)cut_words({"x"}, "/bin/false"); }, {"/bin/false", "status 1"});
  expect_error([] { (void)cut_words({"x"}, "/nowhere/python"); }, {"/nowhere/python"});
}

TEST(Score, CutsChineseTextsIntoWords) {
  if (jieba_python().empty()) GTEST_SKIP() << "no Python here can import jieba (python3-jieba)";
  const std::string text = "\u6211\u6765\u5230\u5317\u4eac\u6e05\u534e\u5927\u5b66\u3002";
  EXPECT_EQ(scores("multifieldqa_zh", {prediction(text, {"x", text}), prediction("", {text})}),
            (Scores{1, 0}));
  EXPECT_DOUBLE_EQ(scores("dureader", {prediction(text, {text})})[0], 0.999999995);
}

}  // namespace
}  // namespace reprise::workloads::longbench
