// Tests the tokenize command on made-up lines with a small tokenizer.
#include "app/tokenize_command.h"

#include <CLI/CLI.hpp>
#include <fstream>
#include <sstream>

#include "tests/core/tokenizer/tokenizer_testing.h"

namespace reprise::app {
namespace {

using tokenizer::error_of;

class TokenizeCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("reprise_tokenize_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "tokenizer.json") << tokenizer::llama_json();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string run(const std::string& input, TokenizeOptions options = {}) {
    options.tokenizer = folder_.string();
    std::istringstream in(input);
    std::ostringstream out;
    run_tokenize(options, in, out, log_);
    return out.str();
  }

  std::filesystem::path folder_;
  std::ostringstream log_;
};

TEST_F(TokenizeCommand, PrintsOneLineOfIdsPerText) {
  EXPECT_EQ(run("a\n\nab"), "263\n\n265\n");
  EXPECT_EQ(run("a\n\n", {.is_special = true}), "1 263\n1\n");
  EXPECT_EQ(log_.str(), "");
}

TEST_F(TokenizeCommand, JsonLinesHoldLineBreaks) {
  EXPECT_EQ(run("\"a\\n\"\n\"\"\n", {.is_json = true}), "263 13\n\n");
  EXPECT_NE(error_of([&] { run("\"a\"\n1\n", {.is_json = true}); }).find("input line 2"),
            std::string::npos);
  EXPECT_NE(error_of([&] { run("a\n", {.is_json = true}); }).find("input line 1"),
            std::string::npos);
}

TEST_F(TokenizeCommand, DecodesThreeFormsOfLists) {
  EXPECT_EQ(run("1 263 13\n1,263, 13\n[1, 263,13]\n\n[]\n", {.is_decoding = true}),
            "a\\n\na\\n\na\\n\n\n\n");
  EXPECT_EQ(run("1 263 13\n", {.is_decoding = true, .is_json = true}), "\"a\\n\"\n");
  EXPECT_EQ(run("1 263\n", {.is_special = true, .is_decoding = true}), "<s> a\n");
}

TEST_F(TokenizeCommand, BadListsAreErrorsWithTheirLine) {
  for (const char* line : {"1 x", "1,,2", "-1", "268", "99999999999", "1,", "[1 2", "1]", "1.5"})
    EXPECT_NE(error_of([&] {
                run("1\n" + std::string(line), {.is_decoding = true});
              }).find("input line 2"),
              std::string::npos)
        << line;
}

TEST_F(TokenizeCommand, InvalidUtf8NamesLineAndByte) {
  const std::string message = error_of([&] { run("a\nb\xff\n"); });
  EXPECT_NE(message.find("input line 2"), std::string::npos);
  EXPECT_NE(message.find("byte 1"), std::string::npos);
}

TEST_F(TokenizeCommand, ALineThatIsTooLongIsAnErrorBehindTheLinesBefore) {
  std::istringstream in("a\n" + std::string((8 << 20) + 1, 'a') + "\nab\n");
  std::ostringstream out;
  EXPECT_NE(error_of([&] {
              run_tokenize({.tokenizer = folder_.string()}, in, out, log_);
            }).find("input line 2: more than 8388608 bytes"),
            std::string::npos);
  EXPECT_EQ(out.str(), "263\n");
}

TEST_F(TokenizeCommand, MissingTokenizersAreErrors) {
  std::istringstream in;
  std::ostringstream out;
  error_of([&] { run_tokenize({.tokenizer = "/nowhere"}, in, out, log_); });
  std::filesystem::remove(folder_ / "tokenizer.json");
  EXPECT_NE(error_of([&] { run(""); }).find("neither tokenizer.json nor tokenizer.model"),
            std::string::npos);
}

TEST_F(TokenizeCommand, IsASubcommand) {
  CLI::App app("reprise");
  add_tokenize_command(app);
  EXPECT_THROW(app.parse("tokenize"), CLI::ParseError);
  EXPECT_THROW(app.parse("tokenize --tokenizer /nowhere"), Error);
}

}  // namespace
}  // namespace reprise::app
