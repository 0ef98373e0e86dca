// Tests LongBench's real configuration and question sets.
#include <gtest/gtest.h>

#include <set>

#include "tests/support/data.h"
#include "workloads/longbench/datasets.h"
#include "workloads/longbench/prompts.h"
#include "workloads/longbench/question_sets.h"

namespace reprise::workloads::longbench {
namespace {

std::filesystem::path long_context(const char* name) {
  return reprise::testing::data_dir() / "datasets" / "longcontext" / name;
}

TEST(OfficialConfiguration, HasTheTablesAnswerLengths) {
  REPRISE_NEEDS_DATA();
  const auto templates = load_official_templates(long_context("longbench_config"));
  for (const Dataset& dataset : datasets()) {
    const PromptTemplate& prompt = templates.find(dataset.name)->second;
    EXPECT_EQ(prompt.most_answer_tokens, dataset.most_answer_tokens) << dataset.name;
    Sample sample;
    sample.documents = {"THE CONTEXT"};
    sample.input = "THE INPUT";
    const std::string text = fill(prompt, sample).text();
    EXPECT_NE(text.find("THE CONTEXT"), std::string::npos) << dataset.name;
    // The sets of summaries, counting and lcc have no question that differs between samples.
    const std::set<std::string_view> kWithoutInput = {"gov_report", "multi_news", "vcsum", "lcc",
                                                      "passage_count"};
    EXPECT_EQ(text.find("THE INPUT") == std::string::npos, kWithoutInput.contains(dataset.name))
        << dataset.name;
  }
}

TEST(AuthorsConfiguration, HasThemToo) {
  REPRISE_NEEDS_DATA();
  const auto templates =
      load_authors_templates(reprise::testing::data_dir() / "prompts" / "prompt-cache-pml");
  for (const Dataset& dataset : datasets()) {
    const PromptTemplate& prompt = templates.find(dataset.name)->second;
    EXPECT_EQ(prompt.most_answer_tokens, dataset.most_answer_tokens) << dataset.name;
    EXPECT_TRUE(prompt.is_as_coded);
    EXPECT_EQ(prompt.cue.empty(), dataset.name == "lsht");
  }
}

void expect_sound(const std::vector<Sample>& samples) {
  for (Sample sample : samples) {
    EXPECT_FALSE(sample.input.empty()) << sample.id;
    EXPECT_FALSE(sample.answers.at(0).empty()) << sample.id;
    EXPECT_GT(sample.length, 0) << sample.id;
    // The context, cut again at its headings, gives the same documents.
    const std::vector<std::string> documents = sample.documents;
    EXPECT_FALSE(sample.supporting.empty()) << sample.id;
    EXPECT_LT(sample.supporting.back(), documents.size()) << sample.id;
    recut(sample, find_dataset(sample.dataset).documents);
    EXPECT_EQ(sample.documents, documents) << sample.id;
  }
}

TEST(RealHotpotqa, HasTenParagraphsAQuestion) {
  REPRISE_NEEDS_DATA();
  const std::vector<Sample> samples = load_hotpotqa(long_context("hotpotqa_100.json"));
  ASSERT_EQ(samples.size(), 100u);
  size_t with_ten = 0;
  for (const Sample& sample : samples) with_ten += sample.documents.size() == 10;
  EXPECT_EQ(with_ten, 99u);
  expect_sound(samples);
}

TEST(RealMusique, HasTwentyParagraphsAQuestion) {
  REPRISE_NEEDS_DATA();
  const std::vector<Sample> samples = load_musique(long_context("musique_100.json"));
  ASSERT_EQ(samples.size(), 100u);
  for (const Sample& sample : samples) EXPECT_EQ(sample.documents.size(), 20u) << sample.id;
  expect_sound(samples);
}

TEST(RealQmsum, Has281QueriesOn35Meetings) {
  REPRISE_NEEDS_DATA();
  const std::vector<Sample> samples = load_qmsum(long_context("qmsum_test.jsonl"));
  std::set<std::string> meetings;
  for (const Sample& sample : samples) meetings.insert(sample.documents.at(0));
  EXPECT_EQ(samples.size(), 281u);
  EXPECT_EQ(meetings.size(), 35u);
}

}  // namespace
}  // namespace reprise::workloads::longbench
