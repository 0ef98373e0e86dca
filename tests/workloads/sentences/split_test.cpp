// Tests that parts have no text in common, whichever texts the items share.
#include "workloads/sentences/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/random.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/data.h"
#include "workloads/sentences/pairs.h"

namespace reprise::workloads::sentences {
namespace {

using model::expect_error;
using Items = std::vector<std::vector<std::string>>;

const std::vector<SplitShare> kThree = {{"database", 3}, {"training", 1}, {"queries", 1}};

TextsOf texts_of(const Items& items) {
  return [&](size_t item) {
    return std::vector<std::string_view>(items[item].begin(), items[item].end());
  };
}

std::vector<Split> split(const Items& items, std::span<const SplitShare> shares, uint64_t seed) {
  return split_by_text(items.size(), texts_of(items), shares, seed);
}

std::vector<Split> in_order(const Items& items, std::span<const SplitShare> shares) {
  return split_in_order(items.size(), texts_of(items), shares);
}

// Pairs drawn from `texts` texts, so that many texts are in several pairs.
Items random_pairs(size_t count, size_t texts, uint64_t seed) {
  Items items;
  for (size_t i = 0; i < count; ++i)
    items.push_back({"text " + std::to_string(random_bits(seed, i, 0) % texts),
                     "text " + std::to_string(random_bits(seed, i, 1) % texts)});
  return items;
}

TEST(SplitByText, PartsCoverAllItemsOnceAndShareNoText) {
  for (const uint64_t seed : {1, 2, 3})
    for (const size_t texts : {150, 400, 5000}) {
      const Items items = random_pairs(200, texts, seed);
      std::set<size_t> seen;
      std::map<std::string, std::string> part_of;
      std::vector<Split> parts;
      try {
        parts = split(items, kThree, seed);
      } catch (const Error&) {
        continue;  // one cluster holds nearly everything: too few others
      }
      for (const Split& part : parts) {
        EXPECT_TRUE(std::is_sorted(part.items.begin(), part.items.end()));
        for (const size_t item : part.items) {
          EXPECT_TRUE(seen.insert(item).second);
          for (const std::string& text : items[item]) {
            const auto [found, is_new] = part_of.emplace(text, part.name);
            EXPECT_EQ(found->second, part.name) << text;
          }
        }
      }
      EXPECT_EQ(seen.size(), items.size());
    }
}

TEST(SplitByText, SharesAreKeptWhereNothingIsShared) {
  Items items;
  for (int i = 0; i < 500; ++i) items.push_back({"text " + std::to_string(i)});
  const auto parts = split(items, kThree, 9);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].items.size(), 300u);
  EXPECT_EQ(parts[1].items.size(), 100u);
  EXPECT_EQ(parts[2].items.size(), 100u);
  EXPECT_EQ(parts[0].name, "database");
  EXPECT_NE(parts[0].description.find("300 of 500 items"), std::string::npos);
  EXPECT_NE(parts[0].description.find("seed 9"), std::string::npos);
}

// Texts that differ only in case or spaces count as the same text.
TEST(SplitByText, TextsThatReadTheSameStayTogether) {
  const Items items = {{"A dog  runs"}, {"a dog runs "}, {"A DOG\truns"}, {"cats"}, {"birds"}};
  for (const uint64_t seed : {1, 2, 3, 4, 5}) {
    const auto parts = split(items, std::vector<SplitShare>{{"a", 1}, {"b", 1}}, seed);
    for (const Split& part : parts) {
      const bool has_first = std::count(part.items.begin(), part.items.end(), 0u) > 0;
      EXPECT_EQ(has_first, std::count(part.items.begin(), part.items.end(), 1u) > 0);
      EXPECT_EQ(has_first, std::count(part.items.begin(), part.items.end(), 2u) > 0);
    }
  }
}

TEST(SplitByText, TheSeedDrawsAndTheOrderOfItemsDoesNot) {
  Items items = random_pairs(120, 4000, 4);
  const auto texts_in = [&](const Split& part) {
    std::set<std::string> texts;
    for (const size_t item : part.items) texts.insert(items[item].begin(), items[item].end());
    return texts;
  };
  const auto first = texts_in(split(items, kThree, 1)[2]);
  EXPECT_EQ(texts_in(split(items, kThree, 1)[2]), first);
  EXPECT_NE(texts_in(split(items, kThree, 2)[2]), first);
  std::reverse(items.begin(), items.end());
  EXPECT_EQ(texts_in(split(items, kThree, 1)[2]), first);
}

// Splits as AttnCache's released code does: the first prompts are stored, and the next ones are
// learned from.
TEST(SplitInOrder, EachPartFollowsTheOneBeforeIt) {
  Items items;
  for (int i = 0; i < 200; ++i) items.push_back({"text " + std::to_string(i)});
  const auto parts = in_order(
      items, std::vector<SplitShare>{{"database", 0.495}, {"training", 0.45}, {"rest", 0.055}});
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].items.front(), 0u);
  EXPECT_EQ(parts[0].items.back(), 98u);
  EXPECT_EQ(parts[1].items.front(), 99u);
  EXPECT_EQ(parts[1].items.back(), 188u);
  EXPECT_EQ(parts[2].items.size(), 11u);
  EXPECT_EQ(parts[0].description,
            "database: 99 of 200 items, no text of another part, in the order of the data set");
}

// Item 3 has the text of item 0, so it is in the first part.
TEST(SplitInOrder, TextsThatReadTheSameStayTogether) {
  const Items items = {{"a"}, {"b"}, {"c"}, {" A "}, {"d"}};
  const auto parts = in_order(items, std::vector<SplitShare>{{"x", 2}, {"y", 2}, {"z", 1}});
  EXPECT_EQ(parts[0].items, (std::vector<size_t>{0, 3}));
  EXPECT_EQ(parts[1].items, (std::vector<size_t>{1, 2}));
  EXPECT_EQ(parts[2].items, (std::vector<size_t>{4}));
  expect_error(
      [] {
        (void)in_order({{"a"}, {"A"}}, std::vector<SplitShare>{{"x", 1}, {"y", 1}});
      },
      {"part \"y\" would be empty"});
}

TEST(SplitByText, TooFewClustersAreAnErrorThatCountsThem) {
  const Items chain = {{"a", "b"}, {"b", "c"}, {"c", "d"}, {"x", "y"}};
  EXPECT_EQ(split(chain, std::vector<SplitShare>{{"one", 1}, {"two", 1}}, 1).size(), 2u);
  expect_error([&] { (void)split(chain, kThree, 1); }, {"4 items are 2 clusters", "3 parts"});
  expect_error([&] { (void)split({}, kThree, 1); }, {"0 clusters"});
}

TEST(SplitByText, PublishedPairsCanBeSplit) {
  REPRISE_NEEDS_DATA();
  for (const char* name : {"sick/SICK_test_annotated.txt", "stsb/sts-train.open.tsv"}) {
    const PairSet set = load_pairs(testing::data_dir() / "datasets" / "sts" / name);
    const auto parts = split_by_text(
        set.pairs.size(),
        [&](size_t item) {
          return std::vector<std::string_view>{set.pairs[item].first, set.pairs[item].second};
        },
        kThree, 1);
    for (const Split& part : parts) EXPECT_GT(part.items.size(), set.pairs.size() / 20) << name;
  }
}

}  // namespace
}  // namespace reprise::workloads::sentences
