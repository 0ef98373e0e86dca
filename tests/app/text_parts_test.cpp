// Tests the parts of the commands that handle text: token lists, and the output to a terminal.
#include <gtest/gtest.h>

#include "app/token_ids.h"
#include "app/token_printer.h"
#include "core/base/error.h"
#include "tests/core/tokenizer/tokenizer_testing.h"

namespace reprise::app {
namespace {

TEST(TokenIds, BlanksAndCommasSeparate) {
  const std::vector<int32_t> wanted = {1, 20, 0, 2147483647};
  for (const char* text : {"1,20,0,2147483647", " 1 20\n0\t2147483647\r\n", "1 , 20,0 2147483647"})
    EXPECT_EQ(parse_token_ids(text, "t"), wanted) << text;
  EXPECT_TRUE(parse_token_ids(" \n", "t").empty());
}

TEST(TokenIds, AMessageShowsWhatCannotBePrinted) {
  const std::string_view text("1,\0002\x1b", 5);
  try {
    (void)parse_token_ids(text, "t");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("\"\\x002\\x1b\", expected"), std::string::npos)
        << error.what();
  }
}

std::string printed(bool is_terminal, const std::vector<int32_t>& ids) {
  const auto tokenizer = tokenizer::make_tokenizer(tokenizer::llama_json());
  std::string out;
  TokenPrinter printer(tokenizer.stream(), tokenizer::StopText({}), is_terminal,
                       [&](std::string_view text) { out += text; });
  for (const int32_t id : ids) printer.token(id);
  printer.end();
  return out;
}

TEST(TokenPrinter, WritesControlCharactersOutOnATerminalAlone) {
  const auto byte = [](int value) { return 3 + value; };
  const std::vector<int32_t> ids = {byte('x'),  byte(0x1b), byte('['),  byte('\n'), byte('\t'),
                                    byte('\r'), byte(7),    byte(0xc2), byte(0x9b), byte(0x7f)};
  EXPECT_EQ(printed(/*is_terminal=*/false, ids), "x\x1b[\n\t\r\a\xc2\x9b\x7f\n");
  EXPECT_EQ(printed(/*is_terminal=*/true, ids), "x\\x1b[\n\t\\r\\x07\\xc2\\x9b\\x7f\n");
}

}  // namespace
}  // namespace reprise::app
