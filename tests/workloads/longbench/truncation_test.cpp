// Tests middle cuts: the official one and the authors' own.
#include "workloads/longbench/truncation.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "tests/core/tokenizer/tokenizer_testing.h"

namespace reprise::workloads::longbench {
namespace {

using Ids = std::vector<int32_t>;

Ids counted(int32_t size) {
  Ids ids(static_cast<size_t>(size));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

TEST(MiddleCutAsCoded, RepeatsWhatFits) {
  EXPECT_EQ(middle_cut_as_coded(counted(8), 4), (Ids{0, 1, 6, 7}));
  EXPECT_EQ(middle_cut_as_coded(counted(8), 5), (Ids{0, 1, 5, 6, 7}));
  EXPECT_EQ(middle_cut_as_coded(counted(3), 4), (Ids{0, 1, 1, 2}));
  EXPECT_EQ(middle_cut_as_coded(counted(3), 6), (Ids{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(middle_cut_as_coded(counted(3), 100), (Ids{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(middle_cut_as_coded(counted(0), 4), Ids{});
}

using Texts = std::vector<std::string>;

// LongBench's cut of a whole text, as its program writes it.
std::string official_cut(const Tokenizer& tokenizer, const std::string& text, int64_t most) {
  const Ids ids = tokenizer.encode(text);
  if (std::ssize(ids) <= most) return text;
  const std::span<const int32_t> all(ids);
  const auto half = static_cast<size_t>(most / 2);
  return tokenizer.decode(all.first(half)) + tokenizer.decode(all.last(half));
}

TEST(MiddleCutParts, AreDecodedInHalvesWithoutSpecialTokens) {
  // The text has <s>, the space that Llama puts ahead of a text, and six byte tokens.
  const auto tokenizer = tokenizer::make_tokenizer(tokenizer::llama_json());
  ASSERT_EQ(tokenizer.encode("xyzxyz").size(), 8u);
  const Texts parts = {"xyz", "xyz"};
  EXPECT_EQ(middle_cut_parts(tokenizer, parts, 8), parts);
  EXPECT_EQ(middle_cut_parts(tokenizer, parts, 7), (Texts{"x", "xyz"}));  // the odd token is lost
  EXPECT_EQ(middle_cut_parts(tokenizer, parts, 4), (Texts{"", "yz"}));
}

TEST(MiddleCutParts, LosesTheMiddleOnes) {
  const auto tokenizer =
      tokenizer::make_tokenizer(tokenizer::byte_level_json());  // each byte is a token
  const Texts parts = {"ab", "cdef", "ghij", "klmn", "op"};
  EXPECT_EQ(middle_cut_parts(tokenizer, parts, 16), parts);
  EXPECT_EQ(middle_cut_parts(tokenizer, parts, 15), (Texts{"ab", "cdef", "gj", "klmn", "op"}));
  EXPECT_EQ(middle_cut_parts(tokenizer, parts, 13), (Texts{"ab", "cdef", "klmn", "op"}));
  EXPECT_EQ(middle_cut_parts(tokenizer, parts, 8), (Texts{"ab", "cd", "mn", "op"}));
  EXPECT_EQ(middle_cut_parts(tokenizer, parts, 4), (Texts{"ab", "op"}));
  EXPECT_EQ(middle_cut_parts(tokenizer, parts, 2), (Texts{"a", "p"}));
  EXPECT_EQ(middle_cut_parts(tokenizer, Texts{"", "cdef", "gh"}, 4), (Texts{"", "cd", "gh"}));
  EXPECT_EQ(middle_cut_parts(tokenizer, Texts{"abcdef", ""}, 2), (Texts{"af", ""}));
}

// A Llama token contains the space before its word, and a text that begins with such a token loses
// the space.
TEST(MiddleCutParts, GiveTheTextThatTheOfficialProgramWrites) {
  const auto tokenizer = tokenizer::make_tokenizer(tokenizer::llama_json());
  const Texts parts = {"xy", " abc ", "a c", " yx"};
  const std::string text = "xy abc a c yx";
  for (int64_t most = 2; most < 16; ++most) {
    std::string together;
    for (const std::string& part : middle_cut_parts(tokenizer, parts, most)) together += part;
    EXPECT_EQ(together, official_cut(tokenizer, text, most)) << most;
  }
}

// A character that is not in the vocabulary becomes a run of byte tokens. If the cut breaks a run,
// each of the run's remaining tokens becomes one U+FFFD, also those of whole characters next to the
// broken one.
TEST(MiddleCutParts, GiveTheOfficialTextWhereACutBreaksManyByteTokens) {
  const auto tokenizer = tokenizer::make_tokenizer(tokenizer::llama_json());
  const Texts parts = {"ab", "a \u9c57\u9c57\uff0c\u4f7d\u9c57\uff1b c", "\uff0c\u9c57 a"};
  const std::string text = parts[0] + parts[1] + parts[2];
  const auto tokens = static_cast<int64_t>(tokenizer.encode(text).size());
  for (int64_t most = 2; most <= tokens; ++most) {
    std::string together;
    for (const std::string& part : middle_cut_parts(tokenizer, parts, most)) together += part;
    EXPECT_EQ(together, official_cut(tokenizer, text, most)) << most;
  }
}

TEST(MiddleCutParts, GiveTheReplacementToTheCharactersOwnPart) {
  const auto tokenizer =
      tokenizer::make_tokenizer(tokenizer::byte_level_json());  // each byte is a token
  const std::string replaced = "\ufffd";
  EXPECT_EQ(middle_cut_parts(tokenizer, Texts{"ab", "\u9c57cdef", "gh"}, 6),
            (Texts{"ab", replaced + "f", "gh"}));
  EXPECT_EQ(middle_cut_parts(tokenizer, Texts{"ab", "cdef\u9c57", "gh"}, 6),
            (Texts{"ab", "c" + replaced, "gh"}));
}

TEST(MiddleCutParts, TogetherAreTheCutOfAll) {
  const auto tokenizer = tokenizer::make_tokenizer(tokenizer::byte_level_json());
  std::mt19937_64 random(11);
  for (int round = 0; round < 500; ++round) {
    Texts parts(2 + random() % 5);
    std::string text;
    for (std::string& part : parts) text += part = tokenizer::random_text(random, 6);
    const auto most = static_cast<int64_t>(2 + random() % 40);
    const Texts cut = middle_cut_parts(tokenizer, parts, most);
    std::string together;
    for (size_t i = 0; i < cut.size(); ++i) {
      EXPECT_TRUE(cut == parts || !cut[i].empty() || i == 0 || i + 1 == cut.size())
          << "round " << round;
      together += cut[i];
    }
    EXPECT_EQ(together, official_cut(tokenizer, text, most)) << "round " << round;
  }
}

TEST(MiddleCutParts, CannotBeToldApartOnceTheTextWasChanged) {
  const auto tokenizer = tokenizer::make_tokenizer(tokenizer::bert_json());  // lowers the case
  const Texts parts = {"The UNAFFABLE caf. ", "The the the the the ", "caf."};
  const std::string error =
      tokenizer::error_of([&] { (void)middle_cut_parts(tokenizer, parts, 12); });
  EXPECT_NE(error.find("does not give back"), std::string::npos) << error;
  EXPECT_NE(error.find("as_coded"), std::string::npos) << error;
  EXPECT_NE(error.find("beginning differs from byte 0 on"), std::string::npos) << error;
  const Texts changed_end = {"the the ", "the the the the the ", "the UNAFFABLE"};
  const std::string of_end =
      tokenizer::error_of([&] { (void)middle_cut_parts(tokenizer, changed_end, 6); });
  EXPECT_NE(of_end.find("end differs before byte 41"), std::string::npos) << of_end;
}

}  // namespace
}  // namespace reprise::workloads::longbench
