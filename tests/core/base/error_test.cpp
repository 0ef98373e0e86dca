#include "core/base/error.h"

#include <gtest/gtest.h>

namespace reprise {
namespace {

const std::vector<std::string> kNames = {"contiguous", "recompute", "paged", "chunk", "relay"};

TEST(EditDistance, CountsInsertionsDeletionsAndSubstitutions) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("sitting", "kitten"), 3u);
  EXPECT_EQ(edit_distance("relay", "relay"), 0u);
  EXPECT_EQ(edit_distance("cdua", "cuda"), 1u) << "a swap is one mistake";
  EXPECT_EQ(edit_distance("ab", "ba"), 1u);
  EXPECT_EQ(edit_distance("ca", "abc"), 3u) << "no letter is moved twice";
}

TEST(NearestName, OffersTheClosestNameThatIsNearEnough) {
  EXPECT_EQ(nearest_name("contigous", kNames), "contiguous");
  EXPECT_EQ(nearest_name("pagd", kNames), "paged");
  EXPECT_EQ(nearest_name("relay", kNames), "relay");
  EXPECT_EQ(nearest_name("zebra crossing", kNames), "");
  EXPECT_EQ(nearest_name("x", {}), "");
  EXPECT_EQ(nearest_name("cdua", std::vector<std::string>{"cpu", "cuda"}), "cuda");
}

TEST(NearestName, LongInputIsNotCompared) {
  EXPECT_EQ(nearest_name(std::string(100000, 'a'), kNames), "");
}

TEST(UnknownName, TellsTheNameTheNearestAndAllKnown) {
  const std::string text = unknown_name("method", "recompte", kNames);
  EXPECT_EQ(
      text,
      "unknown method \"recompte\", did you mean \"recompute\"? Known: contiguous, recompute, "
      "paged, chunk, relay");
  EXPECT_EQ(unknown_name("method", "zebra crossing", {}),
            "unknown method \"zebra crossing\". Known:");
  EXPECT_LT(unknown_name("key", std::string(100000, 'a'), kNames).size(), 400u);
}

TEST(Errors, ShapeErrorsAreErrors) {
  EXPECT_THROW(raise_shape("[{}] is not [{}]", 1, 2), ShapeError);
  try {
    raise_shape("[{}] is not [{}]", 1, 2);
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[1] is not [2]");
  }
}

TEST(CheckDeathTest, BrokenPromiseOfOursStopsWithPlaceConditionAndValues) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const int rows = 3;
  EXPECT_DEATH(REPRISE_CHECK(rows == 4, "{} rows", rows),
               "error_test.cpp.*internal check failed: rows == 4.*3 rows");
  REPRISE_CHECK(rows == 3);
}

}  // namespace
}  // namespace reprise
