// Tests MMLU's files in both their forms, and every character of its prompt.
#include "workloads/questions/mmlu.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/data.h"

namespace reprise::workloads::questions {
namespace {

using model::expect_error;
using model::TempDir;
using Texts = std::vector<std::string>;

constexpr const char* kDev = "One?,a,b,c,d,C\n\"Two, or\n2?\",e,f,g,h,A\n";

TEST(LoadMmlu, WritesTheOfficialPrompt) {
  const TempDir dir;
  dir.write("high_school_art_dev.csv", kDev);
  const auto items = load_mmlu(
      dir.write("high_school_art_test.csv", "Three?,i,j,k,l,D\nFour?,m,n,o,p,B\n"), {.shots = 2});
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].id, "high_school_art-1");
  EXPECT_EQ(items[0].task, "high_school_art");
  EXPECT_EQ(items[0].text(),
            "The following are multiple choice questions (with answers) about  high school "
            "art.\n\nOne?\nA. a\nB. b\nC. c\nD. d\nAnswer: C\n\nTwo, or\n2?\nA. e\nB. f\nC. g\nD. "
            "h\nAnswer: A\n\nThree?\nA. i\nB. j\nC. k\nD. l\nAnswer:");
  EXPECT_EQ(items[0].answers, Texts{"D"});
  EXPECT_EQ(items[0].choices, (Texts{"A", "B", "C", "D"}));
  EXPECT_EQ(items[0].lead, " ");
  EXPECT_EQ(items[1].documents, items[0].documents);
  EXPECT_EQ(items[1].answers, Texts{"B"});
  EXPECT_TRUE(is_right(items[1], " B"));
}

// The prompt of the authors' program: an instruction before each question, and the letter on a line
// of its own.
TEST(LoadMmlu, WritesThePromptOfRelayAttentionsAuthors) {
  const TempDir dir;
  dir.write("high_school_art_dev.csv", "\"One\r\nor 1?\",a,b,c,d,C\n");
  const std::string asks =
      "There is a single choice question about high school art. Answer the question by replying A, "
      "B, C or D.\nQuestion: ";
  const auto items = load_mmlu(dir.write("high_school_art_test.csv", "Three?,i,j,k,l,D\n"),
                               {.shots = 1, .question_template = "vllm_ra"});
  EXPECT_EQ(items.at(0).text(), asks + "One\nor 1?\nA. a\nB. b\nC. c\nD. d\nAnswer: \nC\n\n" +
                                    asks + "Three?\nA. i\nB. j\nC. k\nD. l\nAnswer: ");
  EXPECT_EQ(items[0].lead, "\n");
  EXPECT_TRUE(is_right(items[0], "\nD\n\nThere is a single choice question"));
  EXPECT_FALSE(is_right(items[0], "The answer is D"));
  expect_error(
      [&] {
        (void)load_mmlu(dir.path() / "high_school_art_test.csv", {.question_template = "hendrics"});
      },
      {"did you mean \"hendrycks\"?", "vllm_ra"});
}

TEST(LoadMmlu, RefusesExamplesBeforeThemselves) {
  const TempDir dir;
  const auto file = dir.write("art_dev.csv", kDev);
  expect_error([&] { (void)load_mmlu(file, {.shots = 1, .split = "dev"}); },
               {"art_dev.csv", "set shots to 0"});
}

TEST(LoadMmlu, ReadsFilesWithAHeadingToo) {
  const TempDir dir;
  const auto items =
      load_mmlu(dir.write("art_test.csv",
                          "question,choice0,choice1,choice2,choice3,answer\nThree?,i,j,k,l,3\n"),
                {.shots = 0});
  ASSERT_EQ(items.size(), 1u);
  EXPECT_TRUE(items[0].documents.empty());
  EXPECT_EQ(items[0].answers, Texts{"D"});
}

TEST(LoadMmlu, NamesFileAndLineOfWhatIsWrong) {
  const TempDir dir;
  dir.write("art_dev.csv", kDev);
  const auto refused = [&](const char* text, int64_t shots,
                           std::initializer_list<std::string> parts) {
    expect_error([&] { (void)load_mmlu(dir.write("art_test.csv", text), {.shots = shots}); },
                 parts);
  };
  refused("A?,a,b,c,d,A\nB?,a,b,c,B\n", 0, {"art_test.csv:2", "5 fields"});
  refused("A?,a,b,c,d,E\n", 0, {"art_test.csv:1", "\"E\"", "A to D"});
  refused("A?,a,b,c,d,0\n", 0, {"art_test.csv:1", "A to D"});
  refused("A?,a,b,c,d,\n", 0, {"art_test.csv:1"});
  refused("question,choice0,choice1,choice2,choice3,answer\nA?,a,b,c,d,4\n", 0,
          {"art_test.csv:2", "0 to 3"});
  refused("question,choice0,choice1,choice2,choice3,answer\n", 0, {"no question"});
  refused("A?,a,b,c,d,A\n", 3, {"art_dev.csv", "2 examples", "3 are asked for"});
  expect_error([&] { (void)load_mmlu(dir.write("art.csv", kDev), {.shots = 0}); },
               {"SUBJECT_test.csv"});
  expect_error([&] { (void)load_mmlu(dir.write("bees_test.csv", kDev), {.shots = 1}); },
               {"bees_dev.csv"});
}

TEST(LoadMmlu, ReadsAllSubjects) {
  REPRISE_NEEDS_DATA();
  std::map<std::string, size_t> questions;
  size_t all = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(testing::data_dir() / "datasets" / "mmlu" / "test")) {
    const auto items = load_mmlu(entry.path());
    questions[items[0].task] = items.size();
    all += items.size();
    for (const Item& item : items) EXPECT_EQ(item.documents.size(), 5u) << item.id;
  }
  EXPECT_EQ(questions.size(), 57u);
  EXPECT_EQ(all, 14042u);
  EXPECT_EQ(questions["anatomy"], 135u);
}

}  // namespace
}  // namespace reprise::workloads::questions
