// Tests MMLU's groups: every subject belongs to one of 17 groups, and files are found by group.
#include "workloads/questions/mmlu_groups.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/data.h"

namespace reprise::workloads::questions {
namespace {

using model::expect_error;
using model::TempDir;

TEST(MmluGroups, ThereAreSeventeenAndNamesAreChecked) {
  EXPECT_EQ(mmlu_groups().size(), 17u);
  EXPECT_EQ(mmlu_group_of("astronomy"), "physics");
  EXPECT_EQ(mmlu_group_of("high_school_statistics"), "math");
  EXPECT_EQ(mmlu_group_of("machine_learning"), "computer_science");
  for (const std::string_view group : mmlu_groups())
    EXPECT_NE(group.find_first_not_of(' '), std::string_view::npos);
  expect_error([] { (void)mmlu_group_of("anatmy"); }, {"did you mean \"anatomy\""});
}

TEST(LoadMmluGroup, TakesTheSubjectsOfAGroupAndCallsItTheTask) {
  const TempDir dir;
  std::filesystem::create_directories(dir.path() / "test");
  std::filesystem::create_directories(dir.path() / "dev");
  const char* question = "Q?,a,b,c,d,A\n";
  for (const char* subject : {"virology", "anatomy", "marketing"}) {
    dir.write(std::string("test/") + subject + "_test.csv", question);
    dir.write(std::string("dev/") + subject + "_dev.csv", question);
  }
  const auto health = load_mmlu_group(dir.path(), "health", {.shots = 1});
  ASSERT_EQ(health.size(), 2u);
  EXPECT_EQ(health[0].id, "anatomy-1");
  EXPECT_EQ(health[1].id, "virology-1");
  EXPECT_EQ(health[1].task, "health");
  EXPECT_EQ(health[1].documents.size(), 1u);
  EXPECT_EQ(load_mmlu_group(dir.path() / "test", "all", {.shots = 0}).size(), 3u);
  expect_error([&] { (void)load_mmlu_group(dir.path(), "math", {.shots = 0}); },
               {"no SUBJECT_test.csv", "math"});
  expect_error([&] { (void)load_mmlu_group(dir.path(), "helth", {.shots = 0}); },
               {"did you mean \"health\""});
  expect_error([&] { (void)load_mmlu_group(dir.path() / "none", "all", {.shots = 0}); },
               {"cannot read"});
  dir.write("test/alchemy_test.csv", question);
  expect_error([&] { (void)load_mmlu_group(dir.path(), "all", {.shots = 0}); }, {"\"alchemy\""});
}

TEST(LoadMmluGroup, AsksTheSplitThatIsNamed) {
  const TempDir dir;
  for (const char* split : {"dev", "val", "test"})
    std::filesystem::create_directories(dir.path() / split);
  dir.write("dev/anatomy_dev.csv", "D?,a,b,c,d,A\n");
  dir.write("val/anatomy_val.csv", "V?,a,b,c,d,B\nW?,a,b,c,d,B\n");
  dir.write("test/anatomy_test.csv", "T?,a,b,c,d,C\n");
  const auto asked = [&](const char* split, int64_t shots) {
    return load_mmlu_group(dir.path(), "health", {.shots = shots, .split = split});
  };
  EXPECT_EQ(asked("val", 1).size(), 2u);
  EXPECT_TRUE(asked("val", 1).at(0).question.starts_with("V?"));
  EXPECT_EQ(asked("val", 1).at(0).documents, asked("test", 1).at(0).documents);
  EXPECT_TRUE(asked("dev", 0).at(0).question.starts_with("D?"));
}

TEST(LoadMmluGroup, GroupsAreAllThereIs) {
  REPRISE_NEEDS_DATA();
  std::map<std::string, int64_t> questions;
  const auto folder = testing::data_dir() / "datasets" / "mmlu";
  const std::vector<Item> all = load_mmlu_group(folder, "all", {.shots = 0});
  for (const Item& item : all) ++questions[item.task];
  EXPECT_EQ(all.size(), 14042u);
  EXPECT_EQ(questions.size(), 17u);
  EXPECT_EQ(std::ssize(load_mmlu_group(folder, "law", {.shots = 2})), questions["law"]);
  EXPECT_EQ(questions["engineering"], 145);
}

}  // namespace
}  // namespace reprise::workloads::questions
