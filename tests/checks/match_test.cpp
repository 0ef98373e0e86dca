#include <gtest/gtest.h>

#include "checks/check.h"
#include "core/base/error.h"

namespace reprise::checks {
namespace {

Baseline baseline_of(const std::string& program, const std::string& name) {
  Baseline baseline;
  baseline.entries.push_back({.program = program, .name = name});
  return baseline;
}

TEST(Match, FoldersByProgramAndName) {
  const std::vector<Benchmark> candidates = {{"new/a_bench", "X"}, {"new/b_bench", "X"}};
  const std::vector<Benchmark> baselines = {
      {"old/b_bench", "X"}, {"old/b_bench", "Y"}, {"old/c_bench", "X"}};
  const Pairing pairing = match(candidates, baselines, /*by_name=*/false, "");
  ASSERT_EQ(pairing.subjects.size(), 1u);
  EXPECT_EQ(pairing.subjects[0].id, "b_bench/X");
  EXPECT_EQ(std::get<Benchmark>(pairing.subjects[0].baseline).program, "old/b_bench");
  using Ids = std::vector<std::string>;
  EXPECT_EQ(pairing.only_candidate, (Ids{"a_bench/X"}));
  EXPECT_EQ(pairing.only_baseline, (Ids{"b_bench/Y", "c_bench/X"}));
  EXPECT_EQ(match(candidates, baselines, /*by_name=*/false, "^b").only_baseline, (Ids{"b_bench/Y"}))
      << "the filter did not ask for c_bench";
}

TEST(Match, AFolderOfOneProgramIsStillAFolder) {
  EXPECT_THROW((void)match({{"new/a_bench", "X"}}, {{"old/z_bench", "X"}}, /*by_name=*/false, "^a"),
               Error);
}

TEST(Match, TwoProgramsByNameWhateverTheyAreCalled) {
  const Pairing pairing =
      match({{"a_bench_new", "X"}, {"a_bench_new", "Y"}},
            {{"a_bench_old", "Y"}, {"a_bench_old", "Z"}}, /*by_name=*/true, "^a_bench_new/");
  ASSERT_EQ(pairing.subjects.size(), 1u);
  EXPECT_EQ(pairing.subjects[0].id, "a_bench_new/Y");
  EXPECT_EQ(pairing.only_candidate, std::vector<std::string>{"a_bench_new/X"});
  EXPECT_EQ(pairing.only_baseline, std::vector<std::string>{"a_bench_new/Z"});
}

TEST(Match, NothingInCommonNamesOneOfEach) {
  try {
    (void)match({{"new/a_bench", "X"}}, {{"old/a_bench", "Y"}}, /*by_name=*/false, "");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("a_bench/X"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("a_bench/Y"), std::string::npos) << error.what();
  }
  const std::vector<Benchmark> one = {{"new/a_bench", "X"}};
  EXPECT_THROW((void)match(one, baseline_of("a_bench", "Y"), "b.json", ""), Error);
  EXPECT_EQ(match(one, baseline_of("a_bench", "X"), "b.json", "").subjects.size(), 1u);
  try {
    (void)match(one, baseline_of("a_bench", "Y"), "b.json", "X$");
    FAIL();
  } catch (const Error& error) {
    for (const char* part : {"--filter X$", "b.json has no such benchmark", "a_bench/Y"})
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Filtered, ByProgramAndName) {
  const std::vector<Benchmark> all = {{"bin/a_bench", "Read/8"}, {"bin/b_bench", "Read/16"}};
  EXPECT_EQ(filtered(all, "").size(), 2u);
  EXPECT_EQ(filtered(all, "^a_bench/").size(), 1u);
  EXPECT_EQ(filtered(all, "16$")[0].name, "Read/16");
  EXPECT_THROW((void)filtered(all, "Write"), Error);
  EXPECT_THROW((void)filtered(all, "("), Error);
  EXPECT_EQ(filtered(all, "x*").size(), 2u) << "an empty match is one";
  EXPECT_EQ(filtered({{"bin/a_bench", "\xff/8"}}, "8$").size(), 1u) << "no UTF-8";
}

TEST(Filtered, ExpressionsThatWouldNotEndAreRefused) {
  const std::vector<Benchmark> all = {{"bin/a_bench", std::string(200, 'a')}};
  EXPECT_THROW((void)filtered(all, std::string(100000, '(')), Error);
  EXPECT_THROW((void)filtered(all, std::string(5000, '(') + "a" + std::string(5000, ')')), Error);
  EXPECT_THROW((void)filtered(all, "(a*)*(a*)*(a*)*(a*)*y"), Error);
  EXPECT_THROW((void)filtered(all, "\xff"), Error);
}

TEST(ListBenchmarks, APlaceWithoutProgramsIsNamed) {
  const std::atomic<bool> stop = false;
  const std::filesystem::path loops =
      std::filesystem::path(testing::TempDir()) / "match_test_loops";
  std::filesystem::create_directories(loops);
  std::error_code exists;
  std::filesystem::create_symlink("a_bench", loops / "a_bench", exists);
  EXPECT_THROW((void)list_benchmarks(loops, stop), Error) << "a link to itself is no program";
  std::filesystem::remove_all(loops);
  for (const char* place : {"/nowhere/bin", "/dev/null", "/proc/self/fdinfo"})
    EXPECT_THROW((void)list_benchmarks(place, stop), Error) << place;
}

}  // namespace
}  // namespace reprise::checks
