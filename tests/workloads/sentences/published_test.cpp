// Tests the part (training, development, test) that a file's name tells, and that parts are kept
// apart.
#include "workloads/sentences/published.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/base/random.h"
#include "tests/core/model/checkpoint/model_files.h"

namespace reprise::workloads::sentences {
namespace {

using model::expect_error;
using enum FileRole;

TEST(RoleOf, AWordOfTheNameSaysIt) {
  for (const auto& [name, role] :
       std::vector<std::pair<const char*, FileRole>>{{"train.tsv", kTraining},
                                                     {"folder/sts-train.open.tsv", kTraining},
                                                     {"SICK_train.txt", kTraining},
                                                     {"sentiment-train", kTraining},
                                                     {"dev.tsv", kDevelopment},
                                                     {"SICK_TRIAL.txt", kDevelopment},
                                                     {"x.validation.tsv", kDevelopment},
                                                     {"valid2.tsv", kDevelopment},
                                                     {"headlines.test.tsv", kTest},
                                                     {"SICK_test_annotated.txt", kTest},
                                                     {"test/STS.input.images.txt", kAny},
                                                     {"contest.tsv", kAny},
                                                     {"trained.tsv", kAny},
                                                     {"development.tsv", kAny},
                                                     {"", kAny}})
    EXPECT_EQ(role_of(name), role) << name;
}

TEST(AskedFiles, TestsOrElseDevelopmentWhereThereIsTraining) {
  using Roles = std::vector<FileRole>;
  using Marks = std::vector<bool>;
  EXPECT_EQ(asked_files(Roles{kTest, kDevelopment, kTraining}), (Marks{true, false, false}));
  EXPECT_EQ(asked_files(Roles{kTraining, kDevelopment, kAny}), (Marks{false, true, false}));
  EXPECT_EQ(asked_files(Roles{kTest, kTest}), (Marks{false, false}));
  EXPECT_EQ(asked_files(Roles{kTest, kDevelopment}), (Marks{false, false}));
  EXPECT_EQ(asked_files(Roles{kTraining}), (Marks{false}));
  EXPECT_TRUE(asked_files(Roles{}).empty());
}

// 300 pairs are drawn from 400 texts. The last 60 pairs are the queries, and many of the other
// pairs share a text with a query.
TEST(SplitAsPublished, QueriesAreAsMarkedAndNoOtherPartHasATextOfTheirs) {
  for (const uint64_t seed : {1, 2, 3}) {
    std::vector<std::pair<std::string, std::string>> pairs;
    std::vector<bool> is_asked;
    for (uint64_t i = 0; i < 300; ++i) {
      pairs.emplace_back("Text " + std::to_string(random_bits(seed, i, 0) % 400),
                         "text  " + std::to_string(random_bits(seed, i, 1) % 400));
      is_asked.push_back(i >= 240);
    }
    const TextsOf texts_of = [&](size_t item) {
      return std::vector<std::string_view>{pairs[item].first, pairs[item].second};
    };
    const std::vector<SplitShare> shares = {{"database", 0.6}, {"training", 0.4}};
    const auto parts = split_as_published(300, texts_of, is_asked, shares, seed);
    ASSERT_EQ(parts.size(), 3u);
    EXPECT_EQ(parts[2].name, "queries");
    ASSERT_EQ(parts[2].items.size(), 60u);
    EXPECT_EQ(parts[2].items.front(), 240u);
    EXPECT_TRUE(std::is_sorted(parts[2].items.begin(), parts[2].items.end()));
    std::set<std::string> asked;
    for (const size_t item : parts[2].items)
      for (const std::string_view text : texts_of(item)) asked.insert(compared_text(text));
    std::set<size_t> used;
    for (const Split& part : {parts[0], parts[1]})
      for (const size_t item : part.items) {
        EXPECT_TRUE(used.insert(item).second);
        EXPECT_LT(item, 240u);
        for (const std::string_view text : texts_of(item))
          EXPECT_FALSE(asked.contains(compared_text(text))) << text;
      }
    // Every item that shares no text with a query is in a part.
    size_t left_out = 0;
    for (size_t item = 0; item < 240; ++item) {
      const auto texts = texts_of(item);
      const bool is_free = std::none_of(texts.begin(), texts.end(), [&](std::string_view text) {
        return asked.contains(compared_text(text));
      });
      EXPECT_EQ(used.contains(item), is_free) << item;
      left_out += is_free ? 0 : 1;
    }
    EXPECT_GT(left_out, 0u);
    EXPECT_NE(parts[2].description.find("60 of 300 items, as published; " +
                                        std::to_string(left_out) + " others"),
              std::string::npos)
        << parts[2].description;
  }
}

TEST(SplitAsPublished, TooLittleBesideTheQueriesIsAnError) {
  const std::vector<std::string> texts = {"a", "a", "b"};
  const TextsOf texts_of = [&](size_t item) { return std::vector<std::string_view>{texts[item]}; };
  const std::vector<SplitShare> shares = {{"database", 1}};
  EXPECT_EQ(split_as_published(3, texts_of, {false, true, false}, shares, 1)[0].items,
            (std::vector<size_t>{2}));
  expect_error(
      [&] {
        (void)split_as_published(2, texts_of, {false, true}, shares, 1);
      },
      {"\"database\" would be empty"});
}

}  // namespace
}  // namespace reprise::workloads::sentences
