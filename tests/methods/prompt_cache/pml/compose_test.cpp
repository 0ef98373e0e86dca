// Any text that is written as PML must be read back unchanged, with the tokens of the text alone.
#include "methods/prompt_cache/pml/compose.h"

#include <algorithm>

#include "core/base/random.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/methods/prompt_cache/pml/pml_testing.h"
#include "tests/support/data.h"

namespace reprise::pml {
namespace {

using model::expect_error;

// The schema's own text and the texts of modules and prompt, decoded from byte_encoder()'s tokens.
struct ReadBack {
  std::string own_text;
  Lines modules;
  std::string text;
};

ReadBack read_back(const TextSchema& schema, const std::string& text,
                   const std::string& chat_template = "plain") {
  const TextEncoder encoder = byte_encoder();
  const CompiledSchema compiled_schema =
      compiled(schema_text(schema), encoder, {.chat_template = chat_template});
  const CompiledPrompt prompt =
      compile_prompt(prompt_of(prompt_text(schema, text)), compiled_schema, encoder);
  ReadBack out{.modules = Lines(schema.modules.size())};
  for (const int32_t id : prompt.pieces) {
    const Piece& piece = compiled_schema.pieces[static_cast<size_t>(id)];
    EXPECT_EQ(piece.run, 1) << "one run of tokens for each text";
    if (piece.module == 0)
      out.own_text = text_of(piece.tokens);
    else
      out.modules.at(static_cast<size_t>(piece.module) - 1) = text_of(piece.tokens);
  }
  EXPECT_EQ(prompt.new_runs.size(), 1u);
  out.text = text_of(prompt.new_runs.at(0).tokens);
  EXPECT_EQ(prompt.new_runs.at(0).first, compiled_schema.length);
  return out;
}

void expect_kept(const std::string& text, const std::string& hint = "") {
  const TextSchema schema{.has_opening = false, .own_text = text, .modules = {text, "x", text}};
  const ReadBack back = read_back(schema, text);
  EXPECT_EQ(back.own_text, text) << hint;
  EXPECT_EQ(back.modules, schema.modules) << hint;
  EXPECT_EQ(back.text, text) << hint;
}

TEST(PmlCompose, KeepsAwkwardTexts) {
  for (const char* text : {"plain",
                           " leading",
                           "trailing ",
                           "\n\nboth\n",
                           " ",
                           "\n",
                           "\t\t",
                           "a\r\nb\r",
                           "\r",
                           "\r\r",
                           "\r \n",
                           " \r",
                           "]]>",
                           "]]",
                           "]",
                           "]]]>>",
                           "<![CDATA[ x ]]>",
                           "<schema name=\"s\">",
                           "&amp;",
                           "&#13;",
                           "a & b < c > d \" ' %",
                           "<d1/>",
                           "<!-- no comment -->",
                           "<?php ?>",
                           "\xEF\xBB\xBF"
                           "a",
                           "\u00e9\u4e2d\U0001F600",
                           "\x7f\u0085\u2028",
                           "]]\r>",
                           "a\n\n\nb"})
    expect_kept(text);
}

// Composes random texts of characters that matter in markup.
TEST(PmlCompose, KeepsRandomTexts) {
  const Lines parts = {"<",  ">",  "&",      "]",      "[",         "!",     "]]>",    "\r", "\n",
                       " ",  "\t", "\"",     "'",      "<![CDATA[", "&#13;", "&amp;",  "a",  "Z",
                       "/>", "d1", "</d1>",  "\u00df", "\u3042",    "--",    "<!--",   "?>", "{",
                       "}",  "%",  "\u00a0", "\\",     "#",         ";",     "prompt", "=",  "0"};
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const auto draw = [&](uint64_t which) {
      std::string text;
      const uint64_t count = 1 + random_bits(seed, which, 0) % 12;
      for (uint64_t i = 1; i <= count; ++i)
        text += parts[random_bits(seed, which, i) % parts.size()];
      return text;
    };
    TextSchema schema{.has_opening = false, .own_text = draw(0)};
    for (uint64_t m = 0; m < 1 + seed % 4; ++m) schema.modules.push_back(draw(m + 1));
    const std::string text = draw(99);
    const ReadBack back = read_back(schema, text);
    ASSERT_EQ(back.own_text, schema.own_text) << "seed " << seed;
    ASSERT_EQ(back.modules, schema.modules) << "seed " << seed;
    ASSERT_EQ(back.text, text) << "seed " << seed;
  }
}

TEST(PmlCompose, KeepsTextsUnderEveryChatTemplate) {
  for (const std::string& name : template_names()) {
    const TextSchema schema{.has_opening = false, .own_text = " a\n\nb ", .modules = {"\n\nc\n\n"}};
    const ReadBack back = read_back(schema, "  d ", name);
    EXPECT_EQ(back.own_text, schema.own_text) << name;
    EXPECT_EQ(back.modules, schema.modules) << name;
    EXPECT_EQ(back.text, "  d ") << name;
  }
}

TEST(PmlCompose, OpensAsTheTokenizerDoes) {
  const ReadBack back = read_back({.own_text = " own", .modules = {"m"}}, "t");
  EXPECT_EQ(back.own_text, "<s> own");
  EXPECT_EQ(back.modules, Lines{"m"});
  EXPECT_EQ(read_back({.modules = {"m"}}, "t").own_text, "<s>");
}

TEST(PmlCompose, WithoutModulesIsAPromptToo) {
  const ReadBack back = read_back({.has_opening = false, .own_text = "a"}, "b");
  EXPECT_EQ(back.own_text, "a");
  EXPECT_TRUE(back.modules.empty());
}

TEST(PmlCompose, ScaffoldsAreModulesByNumber) {
  const TextSchema schema{
      .own_text = "o", .modules = {"a", "b", "c"}, .scaffolds = {{0, 1, 2, 3}, {3, 2}}};
  const CompiledSchema compiled_schema = compiled(schema_text(schema), byte_encoder());
  ASSERT_EQ(compiled_schema.scaffolds.size(), 2u);
  EXPECT_EQ(compiled_schema.scaffolds[0].modules, (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(compiled_schema.scaffolds[1].modules, (std::vector<int32_t>{2, 3}));
  const CompiledPrompt prompt =
      compile_prompt(prompt_of(prompt_text(schema, "t")), compiled_schema, byte_encoder());
  EXPECT_EQ(prompt.scaffolds, std::vector<int32_t>{0}) << "the largest";
}

TEST(PmlCompose, NamesWhatXmlCannotCarry) {
  const auto refused = [](const std::string& text, std::initializer_list<std::string> parts) {
    const TextSchema schema{.modules = {"fine", text}};
    expect_error([&] { (void)schema_text(schema); }, {"module d2"});
    expect_error([&] { (void)schema_text(schema); }, parts);
    expect_error([&] { (void)prompt_text(schema, text); }, {"the prompt's text"});
    expect_error([&] { (void)schema_text({.own_text = text}); }, {"the schema's own text"});
  };
  refused(std::string("a\0b", 3), {"character 2", "U+0000"});
  refused("\u00e9\u00e9\x01", {"character 3", "U+0001"});
  refused("\x1b[31m", {"U+001B"});
  refused("a\x0c", {"U+000C"});
  refused("\xEF\xBF\xBE", {"U+FFFE"});
  refused("ab\xEF\xBF\xBF", {"character 3", "U+FFFF"});
  refused("ab\xff", {"byte \\xff at 2", "no UTF-8"});
  refused("\xed\xa0\x80", {"no UTF-8"});  // a surrogate
}

// All control characters except three must be refused, and accepted ones must be read back.
TEST(PmlCompose, RefusesExactlyTheControlCharactersOfC0) {
  for (int c = 0; c < 0x20; ++c) {
    const std::string text = fmt::format("x{}y", static_cast<char>(c));
    if (c == '\t' || c == '\n' || c == '\r')
      expect_kept(text);
    else
      EXPECT_THROW((void)verbatim(text, "it"), Error) << c;
  }
}

TEST(PmlCompose, RefusesWhatIsNoSchema) {
  expect_error([] { (void)schema_text({.modules = {"a", ""}}); }, {"module d2 is empty"});
  expect_error([] { (void)schema_text({.name = "a b"}); }, {"\"a b\"", "no name"});
  expect_error([] { (void)schema_text({.name = ""}); }, {"no name"});
  for (const std::vector<int32_t>& set :
       std::vector<std::vector<int32_t>>{{1}, {}, {1, 1}, {0, 3}, {-1, 1}})
    expect_error(
        [&] {
          (void)schema_text({.modules = {"a", "b"}, .scaffolds = {set}});
        },
        {"no scaffold", "0 to 2"});
}

// With real vocabularies, each text must have the tokens that the tokenizer gives for it alone.
TEST(PmlCompose, TokensAreThoseOfEachTextAlone) {
  REPRISE_NEEDS_DATA();
  const Lines texts = {"Passage 1:\nA <b> & c.\n", "  two  spaces \n\n", "\r\n", "caf\u00e9 ]]> x",
                       "\tint main() { return a<b && c>d; }\n"};
  for (const char* name :
       {"tokenizers/llama2", "tokenizers/tinyllama", "models/stories260K/tok512.model"}) {
    const auto tokenizer = load_tokenizer(testing::data_dir() / name);
    const TextEncoder encoder = encoder_of(*tokenizer);
    const TextSchema schema{.own_text = texts[0], .modules = texts};
    const CompiledSchema compiled_schema = compiled(schema_text(schema), encoder);
    ASSERT_EQ(compiled_schema.pieces.size(), texts.size() + 1) << name;
    EXPECT_EQ(compiled_schema.pieces[0].tokens, tokenizer->encode(texts[0])) << name;
    for (size_t i = 0; i < texts.size(); ++i)
      EXPECT_EQ(compiled_schema.pieces[i + 1].tokens,
                tokenizer->encode(texts[i], {.add_special = false}))
          << name << " " << i;
    const CompiledPrompt prompt =
        compile_prompt(prompt_of(prompt_text(schema, texts[4])), compiled_schema, encoder);
    EXPECT_EQ(prompt.new_runs.at(0).tokens, tokenizer->encode(texts[4], {.add_special = false}));
  }
}

}  // namespace
}  // namespace reprise::pml
