// Tests the token counts that RelayAttention's authors published. Our prompts in their wording must
// have the same counts for every subject and question of MMLU, and a source must ask prompts of
// these lengths.
#include "workloads/serving/mmlu_lengths.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/tokenizer/tokenizer.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/data.h"
#include "tests/workloads/serving/sample_sources.h"
#include "workloads/questions/mmlu.h"

namespace reprise::workloads::serving {
namespace {

using model::expect_error;
using model::TempDir;

// Lists whose entry number n is `first` + n.
std::string counts(size_t entries, size_t first) {
  return mmlu_counts(entries, first, first + entries);
}

TEST(MmluLengths, AreThoseOfOurPromptsInTheAuthorsWording) {
  REPRISE_NEEDS_DATA();
  const auto tokenizer = load_tokenizer(testing::data_dir() / "tokenizers" / "llama2");
  const auto count = [&](const std::string& text) { return std::ssize(tokenizer->encode(text)); };
  for (const SubjectLengths& subject : read_mmlu_lengths(testing::data_dir() / "traces")) {
    const auto file =
        testing::data_dir() / "datasets" / "mmlu" / "test" / (subject.name + "_test.csv");
    const std::vector<questions::Item> items =
        questions::load_mmlu(file, {.question_template = "vllm_ra"});
    std::string prefix;
    for (const std::string& example : items[0].documents) prefix += example;
    EXPECT_EQ(count(prefix), subject.prefix_tokens) << subject.name;
    ASSERT_EQ(items.size(), subject.question_tokens.size()) << subject.name;
    for (size_t q = 0; q < items.size(); ++q)
      EXPECT_EQ(count(items[q].question), subject.question_tokens[q]) << items[q].id;
  }
}

// The lists are in the order of the authors' program. It begins with the 144 questions of
// college_biology; anatomy, with 135, is in eighth place.
TEST(MmluLengths, ArePromptsBehindAPrefixOfEachSubject) {
  const TempDir dir;
  dir.write("mmlu_5shotprefix_stat.json", counts(57, 400));
  const auto file = dir.write("mmlu_prompt_stat.json", counts(kMmluQuestions, 50));
  const auto all = make_sample(
      "mmlu_lengths", {.file = dir.path(), .order = "recorded", .question_template = "vllm_ra"});
  ASSERT_EQ(all->size(), static_cast<int64_t>(kMmluQuestions));
  ASSERT_EQ(all->prefixes().size(), 57u);
  EXPECT_EQ(all->prefixes()[0].name, "college_biology");
  EXPECT_EQ(all->lengths(143).prompt, 400 + 50 + 143 - 1);
  EXPECT_EQ(all->lengths(144).prompt, 401 + 50 + 144 - 1);
  EXPECT_EQ(all->request(144).prefix, 1);
  EXPECT_EQ(all->request(144).output_tokens, 32);
  EXPECT_FALSE(all->is_right(0, "A").has_value());  // made-up tokens ask nothing

  const auto anatomy = make_sample(
      "mmlu_lengths",
      {.file = file, .output_tokens = 5, .subjects = "anatomy", .question_template = "vllm_ra"});
  ASSERT_EQ(anatomy->size(), 135);
  EXPECT_EQ(anatomy->prefixes().at(0).tokens.size(), 407u);
  const ServingRequest request = anatomy->request(0);
  EXPECT_EQ(request.output_tokens, 5);
  const std::vector<int32_t> prefix = anatomy->prefixes().at(0).tokens;
  EXPECT_TRUE(std::equal(prefix.begin(), prefix.end(), request.prompt.begin()));
}

TEST(MmluLengths, AreOfFiveExamplesInTheAuthorsWording) {
  const TempDir dir;
  expect_error([&] { (void)make_sample("mmlu_lengths", {.file = dir.path()}); },
               {"question_template", "set it to \"vllm_ra\""});
  expect_error(
      [&] {
        (void)make_sample("mmlu_lengths",
                          {.file = dir.path(), .shots = 3, .question_template = "vllm_ra"});
      },
      {"shots is 3", "set shots to 5"});
}

TEST(MmluLengths, NamesTheListThatIsMissingOrWrong) {
  const TempDir dir;
  const auto message_has = [&](std::initializer_list<std::string> parts) {
    expect_error([&] { (void)read_mmlu_lengths(dir.path()); }, parts);
  };
  message_has({"mmlu_5shotprefix_stat.json", "mmlu_prompt_stat.json", "vllm-ra"});
  dir.write("mmlu_5shotprefix_stat.json", counts(57, 400));
  dir.write("mmlu_prompt_stat.json", "[1, 2, 3]");
  message_has({"mmlu_prompt_stat.json", "3 token counts", "14042"});
  dir.write("mmlu_prompt_stat.json", "{}");
  message_has({"mmlu_prompt_stat.json", "a list"});
  dir.write("mmlu_prompt_stat.json", counts(kMmluQuestions, 1));
  message_has({"mmlu_prompt_stat.json", "entry 0 is 1"});
}

}  // namespace
}  // namespace reprise::workloads::serving
