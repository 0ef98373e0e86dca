// Tests each normalizer on short texts.
#include "core/tokenizer/normalizer.h"

#include "tests/core/tokenizer/tokenizer_testing.h"
#include "tests/support/json.h"

namespace reprise::tokenizer {
namespace {

std::string normalize(const std::string& json, const std::string& text) {
  const Json parsed = Json::parse(json);
  NormalizedText normal{text, true};
  make_normalizer({parsed, "test.json", "normalizer"})->apply(normal);
  return normal.text;
}

TEST(Normalizer, UnicodeForms) {
  EXPECT_EQ(normalize(R"({"type": "NFC"})", "e\u0301 \ufb01"), "\u00e9 \ufb01");
  EXPECT_EQ(normalize(R"({"type": "NFD"})", "\u00e9"), "e\u0301");
  EXPECT_EQ(normalize(R"({"type": "NFKC"})", "\ufb01\u2460"), "fi1");
  EXPECT_EQ(normalize(R"({"type": "NFKD"})", "\u00e9\ufb01"), "e\u0301fi");
}

// HF's library computed the expected texts. Its normal forms are those of Unicode 9.
TEST(Normalizer, CharactersThatAreNewerThanTheLibrarysUnicodeAreCopied) {
  EXPECT_EQ(normalize(R"({"type": "NFKC"})", "\u32ff\ufb01"), "\u32fffi");
  EXPECT_EQ(normalize(R"({"type": "NFD"})", "a\u0301\u1ac0\u0316"), "a\u0301\u1ac0\u0316");
  EXPECT_EQ(normalize(R"({"type": "NFD"})", "a\u0301\u0316"), "a\u0316\u0301");
}

TEST(Normalizer, LowercaseIsFullButWithoutContext) {
  EXPECT_EQ(normalize(R"({"type": "Lowercase"})", "A\u0130\u03a3"), "ai\u0307\u03c3");
}

TEST(Normalizer, StripAccentsDropsMarks) {
  EXPECT_EQ(normalize(R"({"type": "StripAccents"})", "e\u0301\u00e9"), "e\u00e9");
}

TEST(Normalizer, ReplacePrependStrip) {
  EXPECT_EQ(
      normalize(R"({"type": "Replace", "pattern": {"String": ".."}, "content": "-"})", "a...b"),
      "a-.b");
  EXPECT_EQ(normalize(R"({"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": "_"})",
                      "a \u00a0b"),
            "a_b");
  EXPECT_EQ(normalize(R"({"type": "Prepend", "prepend": "_"})", "a"), "_a");
  EXPECT_EQ(normalize(R"({"type": "Prepend", "prepend": "_"})", ""), "");
  EXPECT_EQ(normalize(R"({"type": "Strip", "strip_left": true, "strip_right": false})", " a "),
            "a ");
  EXPECT_EQ(normalize(R"({"type": "Strip", "strip_left": true, "strip_right": true})", " \n"), "");
}

// Metaspace's "first" puts its mark only at the text's start. If the first characters were
// replaced, HF's library regards the result as a start only if they were a single character.
TEST(Normalizer, ReplacedCharactersMayMoveTheStart) {
  const auto is_start_after = [](const std::string& content, const std::string& text) {
    const Json json = {{"type", "Replace"}, {"pattern", {{"Regex", "q+"}}}, {"content", content}};
    NormalizedText normal{text, true};
    make_normalizer({json, "test.json", "normalizer"})->apply(normal);
    return normal.is_start;
  };
  EXPECT_FALSE(is_start_after("x", "qq"));
  EXPECT_TRUE(is_start_after("x", "q"));
  EXPECT_TRUE(is_start_after("x", "aqq"));
  EXPECT_FALSE(is_start_after("", "q"));
}

TEST(Normalizer, Bert) {
  const std::string uncased = R"({"type": "BertNormalizer", "clean_text": true,
      "handle_chinese_chars": true, "strip_accents": null, "lowercase": true})";
  EXPECT_EQ(normalize(uncased, "Caf\u00e9\u0001\t\u4e16\ufffd"), "cafe  \u4e16 ");
  const std::string cased = R"({"type": "BertNormalizer", "clean_text": false,
      "handle_chinese_chars": false, "strip_accents": null, "lowercase": false})";
  EXPECT_EQ(normalize(cased, "Caf\u00e9\u4e16"), "Caf\u00e9\u4e16");
}

TEST(Normalizer, ErrorsNameFileAndKey) {
  EXPECT_NE(error_of([] {
              normalize(R"({"type": "Precompiled"})", "");
            }).find("test.json: key \"normalizer.type\""),
            std::string::npos);
  EXPECT_NE(error_of([] {
              normalize(R"({"type": "Strip", "strip_lft": true})", "");
            }).find("in \"normalizer\", unknown key \"strip_lft\""),
            std::string::npos);
  error_of(
      [] { normalize(R"({"type": "Replace", "pattern": {"String": ""}, "content": ""})", ""); });
  error_of([] { normalize(R"([1])", ""); });
}

}  // namespace
}  // namespace reprise::tokenizer
