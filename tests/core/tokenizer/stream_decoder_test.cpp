// Tests each decoder on short lists of tokens.
#include "core/tokenizer/decoder.h"

#include "tests/core/tokenizer/tokenizer_testing.h"
#include "tests/support/json.h"

namespace reprise::tokenizer {
namespace {

std::string decode(const std::string& json, const std::vector<std::string>& tokens) {
  const Json parsed = Json::parse(json);
  auto stream = Decoder({parsed, "test.json", "decoder"}).stream();
  std::string text;
  for (const std::string& token : tokens) stream.token(token, text);
  stream.finish(text);
  return text;
}

TEST(Decoder, WithoutOneTokensAreJoinedBySpaces) {
  auto stream = Decoder().stream();
  std::string text;
  for (const char* token : {"a", "", "b"}) stream.token(token, text);
  stream.finish(text);
  EXPECT_EQ(text, "a  b");
}

TEST(Decoder, ByteLevelReplacesWhatIsNotUtf8) {
  const std::string json = R"({"type": "ByteLevel"})";
  EXPECT_EQ(decode(json, {"\u0120the", "\u00c3", "\u00a9"}), " the\u00e9");
  EXPECT_EQ(decode(json, {"\u00c3", "a"}), "\ufffda");
  EXPECT_EQ(decode(json, {"\u00f0\u0141", "\u00c3"}), "\ufffd\ufffd");
  EXPECT_EQ(decode(json, {"\u4e16\u0120"}), "\u4e16\u0120");  // not of the alphabet: as it is
}

TEST(Decoder, ByteFallbackJudgesRuns) {
  const std::string json = R"({"type": "ByteFallback"})";
  EXPECT_EQ(decode(json, {"<0xC3>", "<0xA9>", "x"}), "\u00e9x");
  EXPECT_EQ(decode(json, {"<0x41>", "<0xC3>", "x"}), "\ufffd\ufffdx");
  EXPECT_EQ(decode(json, {"<0xGG>", "<0xe4>", "<0xB8>", "<0x96>"}), "<0xGG>\u4e16");
}

TEST(Decoder, StripCountsAtBothEnds) {
  const std::string json = R"({"type": "Strip", "content": "_", "start": 1, "stop": 2})";
  EXPECT_EQ(decode(json, {"__a_b____"}), "_a_b__");
  EXPECT_EQ(decode(json, {"_a", "b_"}), "ab");
  EXPECT_EQ(decode(json, {"___"}), "");
}

TEST(Decoder, ReplaceSeesAcrossFusedTokensOnly) {
  const std::string replace = R"({"type": "Replace", "pattern": {"String": "ab"}, "content": "-"})";
  EXPECT_EQ(decode(replace, {"a", "b", "xabab"}), "abx--");
  EXPECT_EQ(decode(R"({"type": "Sequence", "decoders": [{"type": "Fuse"}, )" + replace + "]}",
                   {"a", "b", "xa"}),
            "-xa");
  EXPECT_EQ(decode(R"({"type": "Replace", "pattern": {"Regex": "[ab]+"}, "content": "-"})",
                   {"a", "ba", "c"}),
            "--c");
}

TEST(Decoder, Metaspace) {
  EXPECT_EQ(decode(R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "always"})",
                   {"_a", "_b"}),
            "a b");
  EXPECT_EQ(decode(R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "never"})",
                   {"_a", "_b"}),
            " a b");
}

TEST(Decoder, WordPieceCleansUp) {
  EXPECT_EQ(decode(R"({"type": "WordPiece", "prefix": "##", "cleanup": true})",
                   {"un", "##able", ",", "the", "n't", "."}),
            "unable, then't.");
  EXPECT_EQ(decode(R"({"type": "WordPiece", "prefix": "##", "cleanup": false})", {"a", "."}),
            "a .");
}

TEST(Decoder, UnsupportedIsAnError) {
  EXPECT_NE(
      error_of([] { decode(R"({"type": "CTC"})", {}); }).find("test.json: key \"decoder.type\""),
      std::string::npos);
  error_of([] { decode(R"({"type": "Strip", "content": "ab", "start": 1, "stop": 0})", {}); });
}

}  // namespace
}  // namespace reprise::tokenizer
