// Tests pairs of sentences in every form in which they are published.
#include "workloads/sentences/pairs.h"

#include <gtest/gtest.h>

#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/data.h"

namespace reprise::workloads::sentences {
namespace {

using model::expect_error;
using model::TempDir;

void expect_pair(const SentencePair& pair, const char* first, const char* second, double score,
                 int64_t line) {
  EXPECT_EQ(pair.first, first);
  EXPECT_EQ(pair.second, second);
  EXPECT_EQ(pair.score, score);
  EXPECT_EQ(pair.line, line);
}

TEST(LoadPairs, ThreeColumnsAreScoreAndSentences) {
  const TempDir dir;
  const PairSet set = load_pairs(dir.write("a.test.tsv",
                                           "\xEF\xBB\xBF"
                                           "2.6\tA \"b\" c\tD\n\tnobody\tscored\n5\tx\ty\r\n\n"));
  EXPECT_EQ(set.name, (dir.path().filename() / "a.test.tsv").string());
  EXPECT_EQ(set.unscored, 1);
  ASSERT_EQ(set.pairs.size(), 2u);
  expect_pair(set.pairs[0], "A \"b\" c", "D", 2.6, 1);
  expect_pair(set.pairs[1], "x", "y", 5, 3);
}

TEST(LoadPairs, TheBenchmarksSevenColumnsMayBeFollowedByOthers) {
  const TempDir dir;
  const PairSet set = load_pairs(dir.write("sts-test.csv",
                                           "main\tf\t2012\t01\t4.2\tone, a\ttwo\n"
                                           "main\tf\t2012\t02\t0\tthree\tfour\thttp://x\ty\n"));
  ASSERT_EQ(set.pairs.size(), 2u);
  expect_pair(set.pairs[0], "one, a", "two", 4.2, 1);
  expect_pair(set.pairs[1], "three", "four", 0, 2);
}

TEST(LoadPairs, HeadingsNameTheColumns) {
  const TempDir dir;
  const PairSet sick = load_pairs(
      dir.write("SICK_train.txt",
                "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
                "1\tA b\tC d\t4.5\tNEUTRAL\n2\tE\tF\t1\tENTAILMENT\n"));
  expect_pair(sick.pairs.at(0), "A b", "C d", 4.5, 2);
  const PairSet glue = load_pairs(
      dir.write("train.tsv",
                "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\t"
                "score\n0\tg\tf\t2012\t1\tnone\tnone\tA plane.\tAn air plane.\t5.000\n"
                "1\tg\tf\t2012\t4\tnone\tnone\tA man.\tA flute.\t3.800\n"));
  expect_pair(glue.pairs.at(1), "A man.", "A flute.", 3.8, 3);
}

TEST(LoadPairs, OfficialScoresStandInAFileOfTheirOwn) {
  const TempDir dir;
  dir.write("STS.gs.images.txt", "1.5\n\n4\n\n");
  const PairSet set =
      load_pairs(dir.write("STS.input.images.txt", "a\tb\nc\td\turl\turl\ne\tf\ng\th\n"));
  ASSERT_EQ(set.pairs.size(), 2u);
  expect_pair(set.pairs[0], "a", "b", 1.5, 1);
  expect_pair(set.pairs[1], "e", "f", 4, 3);
  EXPECT_EQ(set.unscored, 2);
  dir.write("STS2016.gs.x.txt", "1\n2\n");
  EXPECT_EQ(load_pairs(dir.write("STS2016.input.x.txt", "a\tb\nc\td\n")).pairs.size(), 2u);
  EXPECT_EQ(load_pair_sets(dir.path()).size(), 2u);
  dir.write("STS.gs.images.txt", "1\n2\n3\n4\n5\n");
  expect_error([&] { (void)load_pairs(dir.path() / "STS.input.images.txt"); },
               {"STS.gs.images.txt has 5 lines", "has 4"});
  dir.write("STS.gs.images.txt", "1\nfive\n");
  expect_error([&] { (void)load_pairs(dir.path() / "STS.input.images.txt"); },
               {"STS.gs.images.txt:2", "\"five\""});
}

TEST(LoadPairs, WhatIsWrongIsNamedWithItsLine) {
  const TempDir dir;
  const auto refused = [&](const std::string& text, std::initializer_list<std::string> parts) {
    expect_error([&] { (void)load_pairs(dir.write("x.tsv", text)); }, parts);
  };
  refused("1\ta\tb\n2\ta\n", {"x.tsv:2", "2 columns"});
  refused("1\ta\tb\n6\ta\tb\n", {"x.tsv:2", "\"6\"", "0 to 5"});
  refused("1\ta\tb\n-1\ta\tb\n", {"x.tsv:2"});
  refused("1\ta\tb\n1.5x\ta\tb\n", {"x.tsv:2", "1.5x"});
  refused("1\ta\tb\nnan\ta\tb\n", {"x.tsv:2"});
  refused("1\ta\tb\n1\t \tb\n", {"x.tsv:2", "empty"});
  refused("1\ta\tb\n", {"1 pairs", "two"});
  refused("1\ta\tb\n\ta\tb\n", {"1 pairs"});
  refused("1\ta\tb\tc\n", {"x.tsv:1", "4 columns"});
  refused("sentence1\tsentence2\nb\tc\n", {"x.tsv:1", "without score"});
  refused("1\ta\tb\n1\ta\xff\tb\n", {"x.tsv:2"});
  refused("", {"no line"});
  expect_error([&] { (void)load_pairs(dir.path() / "none.tsv"); }, {"none.tsv"});
}

TEST(LoadPairSets, AFolderIsAllItsTables) {
  const TempDir dir;
  dir.write("b.tsv", "1\ta\tb\n2\tc\td\n");
  dir.write("a.tsv", "1\ta\tb\n2\tc\td\n3\te\tf\n");
  dir.write("LICENSE.txt", "none");
  dir.write("test.tsv", "index\tsentence1\tsentence2\n0\ta\tb\n");  // GLUE's, without scores
  EXPECT_EQ(load_pair_sets(dir.path()).size(), 2u);
  dir.write("sts-dev.csv", "main\tf\t2012\t01\t4.2\ta\tb\nmain\tf\t2012\t02\t0\tc\td\n");
  dir.write("SICK_trial.txt", "sentence_A\tsentence_B\trelatedness_score\na\tb\t1\nc\td\t2\n");
  const auto sets = load_pair_sets(dir.path());
  ASSERT_EQ(sets.size(), 4u);
  EXPECT_EQ(sets[0].name, (dir.path().filename() / "SICK_trial.txt").string());
  std::filesystem::remove(dir.path() / "SICK_trial.txt");
  EXPECT_EQ(sets[1].pairs.size(), 3u);
  EXPECT_EQ(load_pair_sets(dir.path() / "b.tsv").size(), 1u);
  const TempDir empty;
  expect_error([&] { (void)load_pair_sets(empty.path()); }, {"no pairs"});
}

TEST(LoadPairs, ThePublishedFilesHaveAsManyPairsAsTheySay) {
  REPRISE_NEEDS_DATA();
  const auto folder = testing::data_dir() / "datasets" / "sts";
  EXPECT_EQ(load_pairs(folder / "stsb" / "sts-test.open.tsv").pairs.size(), 625u);
  EXPECT_EQ(load_pairs(folder / "sick" / "SICK_test_annotated.txt").pairs.size(), 4927u);
  EXPECT_EQ(load_pairs(folder / "sts13" / "headlines.test.tsv").pairs.size(), 750u);
  const PairSet images = load_pairs(folder / "sts15" / "images.test.tsv");
  EXPECT_EQ(images.pairs.size(), 750u);
  EXPECT_GT(images.unscored, 0);
  for (const char* year : {"sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sick"})
    for (const PairSet& set : load_pair_sets(folder / year)) EXPECT_GT(set.pairs.size(), 100u);
}

}  // namespace
}  // namespace reprise::workloads::sentences
