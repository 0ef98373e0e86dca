// Tests where the files of a split are looked for, and the error if there are none.
#include "workloads/questions/mmlu_files.h"

#include <gtest/gtest.h>

#include "tests/core/model/checkpoint/model_files.h"

namespace reprise::workloads::questions {
namespace {

namespace fs = std::filesystem;
using model::expect_error;
using model::TempDir;

constexpr const char* kQuestion = "Q?,a,b,c,d,A\n";

TEST(MmluFiles, LieInTheSplitsFolderOrTogetherInOne) {
  const TempDir dir;
  for (const char* folder : {"dev", "test"}) fs::create_directories(dir.path() / folder);
  const auto dev = dir.write("dev/art_dev.csv", kQuestion);
  dir.write("test/bees_test.csv", kQuestion);
  const auto art = dir.write("test/art_test.csv", kQuestion);
  const auto files = find_mmlu_files(dir.path(), "test");
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].subject, "art");
  EXPECT_EQ(files[0].path, art);
  EXPECT_EQ(files[1].subject, "bees");
  EXPECT_EQ(find_mmlu_files(dir.path() / "test", "test").at(0).path, art);
  EXPECT_EQ(find_mmlu_files(dir.path() / "test", "dev").at(0).path, dev);
  EXPECT_EQ(find_mmlu_files(dir.path() / "test/", "dev").at(0).path, dev);
  EXPECT_EQ(find_mmlu_files(art, "test").at(0).path, art);
  EXPECT_EQ(mmlu_examples_of(art, "art"), dev);

  const auto val = dir.write("cats_val.csv", kQuestion);
  EXPECT_EQ(find_mmlu_files(dir.path(), "val").at(0).path, val);
  EXPECT_EQ(mmlu_examples_of(val, "cats"), dir.path() / "cats_dev.csv");
}

TEST(MmluFiles, ThatAreMissingAreNamedWithTheSplitsThereAre) {
  const TempDir dir;
  for (const char* folder : {"dev", "test"}) fs::create_directories(dir.path() / folder);
  dir.write("dev/art_dev.csv", kQuestion);
  const auto test = dir.write("test/art_test.csv", kQuestion);
  expect_error([&] { (void)find_mmlu_files(dir.path(), "val"); },
               {"has no split val", "SUBJECT_val.csv", "It has dev, test", "Set split"});
  expect_error([&] { (void)find_mmlu_files(dir.path(), "valid"); },
               {"unknown split", "did you mean \"val\"", "dev", "test"});
  expect_error([&] { (void)find_mmlu_files(test, "val"); }, {"of split test", "split is val"});
  expect_error([&] { (void)find_mmlu_files(dir.path() / "none", "test"); }, {"cannot read"});
  const TempDir empty;
  expect_error([&] { (void)find_mmlu_files(empty.path(), "test"); }, {"It has no split"});
}

}  // namespace
}  // namespace reprise::workloads::questions
