// Tests each pre-tokenizer on short texts.
#include "core/tokenizer/pre_tokenizer.h"

#include "tests/core/tokenizer/tokenizer_testing.h"
#include "tests/support/json.h"

namespace reprise::tokenizer {
namespace {

using Texts = std::vector<std::string>;

Texts cut(const std::string& json, const std::string& text, bool is_start = true) {
  const Json parsed = Json::parse(json);
  const auto pre_tokenizer = make_pre_tokenizer({parsed, "test.json", "pre_tokenizer"});
  Pieces pieces{text, {{0, text.size(), -1, is_start}}};
  pre_tokenizer->apply(pieces);
  Texts texts;
  for (const Piece& piece : pieces.list) texts.emplace_back(pieces.view(piece));
  return texts;
}

std::string split(const std::string& behavior, bool invert = false) {
  return R"({"type": "Split", "pattern": {"Regex": "[,.]"}, "behavior": ")" + behavior +
         R"(", "invert": )" + (invert ? "true}" : "false}");
}

TEST(PreTokenizer, SplitHasFiveBehaviors) {
  EXPECT_EQ(cut(split("Removed"), "a,,b."), (Texts{"a", "b"}));
  EXPECT_EQ(cut(split("Isolated"), "a,,b."), (Texts{"a", ",", ",", "b", "."}));
  EXPECT_EQ(cut(split("Contiguous"), "a,,b."), (Texts{"a", ",,", "b", "."}));
  EXPECT_EQ(cut(split("MergedWithPrevious"), "a,,b."), (Texts{"a,", ",", "b."}));
  EXPECT_EQ(cut(split("MergedWithNext"), "a,,b."), (Texts{"a", ",", ",b", "."}));
}

TEST(PreTokenizer, InvertedSplitKeepsTheMatches) {
  EXPECT_EQ(cut(split("Removed", true), "a,,b."), (Texts{",", ",", "."}));
}

TEST(PreTokenizer, SplitAtAString) {
  EXPECT_EQ(cut(R"({"type": "Split", "pattern": {"String": "."}, "behavior": "Removed"})", "a.bc"),
            (Texts{"a", "bc"}));
}

TEST(PreTokenizer, DigitsAloneOrInRuns) {
  EXPECT_EQ(cut(R"({"type": "Digits", "individual_digits": true})", "a12\u0663"),
            (Texts{"a", "1", "2", "\u0663"}));
  EXPECT_EQ(cut(R"({"type": "Digits", "individual_digits": false})", "a12b"),
            (Texts{"a", "12", "b"}));
}

TEST(PreTokenizer, PunctuationIsAsciiSymbolsToo) {
  EXPECT_EQ(cut(R"({"type": "Punctuation"})", "a$\u00a3\u2026"),
            (Texts{"a", "$", "\u00a3", "\u2026"}));
  EXPECT_EQ(cut(R"({"type": "Punctuation", "behavior": "Contiguous"})", "a..b"),
            (Texts{"a", "..", "b"}));
}

TEST(PreTokenizer, ByteLevelCutsAndMapsBytes) {
  EXPECT_EQ(cut(R"({"type": "ByteLevel", "add_prefix_space": false})", "I'm  a\n1"),
            (Texts{"I", "'m", "\u0120", "\u0120a", "\u010a", "1"}));
  EXPECT_EQ(cut(R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true})", "a"),
            (Texts{"\u0120a"}));
  EXPECT_EQ(cut(R"({"type": "ByteLevel", "add_prefix_space": true, "use_regex": false})", " a b"),
            (Texts{"\u0120a\u0120b"}));
  EXPECT_EQ(cut(R"({"type": "ByteLevel", "add_prefix_space": false})", "\u00e9"),
            (Texts{"\u00c3\u00a9"}));
}

TEST(PreTokenizer, MetaspaceNewAndOldForm) {
  EXPECT_EQ(cut(R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "always"})", "a b"),
            (Texts{"_a", "_b"}));
  EXPECT_EQ(cut(R"({"type": "Metaspace", "replacement": "_", "add_prefix_space": true,
                    "str_rep": "_"})",
                " a  b"),
            (Texts{"_a", "_", "_b"}));
  EXPECT_EQ(cut(R"({"type": "Metaspace", "replacement": "_", "add_prefix_space": false})", "a b"),
            (Texts{"a", "_b"}));
  EXPECT_EQ(cut(R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "first",
                    "split": false})",
                "a b", true),
            (Texts{"_a_b"}));
  EXPECT_EQ(cut(R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "first",
                    "split": false})",
                "a b", false),
            (Texts{"a_b"}));
}

TEST(PreTokenizer, WhitespaceKinds) {
  EXPECT_EQ(cut(R"({"type": "Whitespace"})", "don't\u00a0a_1 !?"),
            (Texts{"don", "'", "t", "a_1", "!?"}));
  EXPECT_EQ(cut(R"({"type": "WhitespaceSplit"})", " don't\u3000a"), (Texts{"don't", "a"}));
  EXPECT_EQ(cut(R"({"type": "BertPreTokenizer"})", "it's\n1+1"),
            (Texts{"it", "'", "s", "1", "+", "1"}));
  EXPECT_EQ(cut(R"({"type": "CharDelimiterSplit", "delimiter": "-"})", "a--b"), (Texts{"a", "b"}));
}

TEST(PreTokenizer, ErrorsNameFileAndKey) {
  const auto message =
      error_of([] { cut(R"({"type": "Sequence", "pretokenizers": [{"type": "Metaspce"}]})", ""); });
  EXPECT_NE(message.find("test.json: key \"pre_tokenizer.pretokenizers[0].type\""),
            std::string::npos);
  EXPECT_NE(message.find("did you mean \"Metaspace\"?"), std::string::npos);
  EXPECT_NE(error_of([] {
              cut(R"({"type": "ByteLevel", "add_prefix": 1})", "");
            }).find("in \"pre_tokenizer\", unknown key \"add_prefix\""),
            std::string::npos);
  error_of([] { cut(split("Sometimes"), ""); });
  error_of([] { cut(R"({"type": "UnicodeScripts"})", ""); });
}

}  // namespace
}  // namespace reprise::tokenizer
