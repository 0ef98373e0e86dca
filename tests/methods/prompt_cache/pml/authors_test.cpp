// Tests the schemas that the paper's authors published: which elements are read, and the positions
// of their tokens.
#include <algorithm>
#include <filesystem>

#include "core/tokenizer/tokenizer.h"
#include "methods/prompt_cache/pml/markup.h"
#include "tests/methods/prompt_cache/pml/pml_testing.h"
#include "tests/support/data.h"

namespace reprise::pml {
namespace {

namespace fs = std::filesystem;

fs::path published(const std::string& name) {
  return testing::data_dir() / "prompts" / "prompt-cache-pml" / name;
}
Schema read(const std::string& name) { return parse_schema(Source::read(published(name))); }

struct Published {
  const char* name;
  size_t modules, unions, parameters;
  int64_t passes;  // passes of the joint encoding
};
// Counts taken from the files by hand.
const std::vector<Published> kPublished = {
    {"benchmark__schema__test__empty.xml", 0, 0, 0, 1},
    {"benchmark__schema__test__schema_code_generation.xml", 11, 3, 3, 8},
    {"benchmark__schema__test__schema_long_task_1.xml", 11, 3, 3, 8},
    {"benchmark__schema__test__schema_mbti.xml", 12, 4, 0, 9},
    {"benchmark__schema__test__schema_mbti_short.xml", 12, 4, 0, 9},
    {"benchmark__schema__test__schema_persona.xml", 42, 6, 0, 31},
    {"benchmark__schema__test__schema_persona_long.xml", 40, 6, 0, 29},
    {"examples__code_generation_bookstore.xml", 5, 0, 0, 1},
    {"examples__parameterized_prompts.xml", 11, 2, 2, 11},
    {"examples__persona_generation.xml", 35, 6, 0, 29},
    {"examples__personalization-education.xml", 30, 6, 0, 31},
};

TEST(PmlPublished, ElevenSchemasAreReadWhole) {
  REPRISE_NEEDS_DATA();
  for (const Published& expected : kPublished) {
    const CompiledSchema schema = compile_schema(read(expected.name), word_encoder(), {});
    EXPECT_EQ(schema.modules.size() - 1, expected.modules) << expected.name;
    EXPECT_EQ(schema.unions.size(), expected.unions) << expected.name;
    EXPECT_EQ(schema.parameters.size(), expected.parameters) << expected.name;
    EXPECT_EQ(joint_passes(schema), expected.passes) << expected.name;
  }
}

TEST(PmlPublished, TheMalformedOneIsRefusedWhereItIs) {
  REPRISE_NEEDS_DATA();
  const std::string file = published("examples__code_generation_game.xml").string();
  const std::string stray =
      ": \"<\" begins no tag; write &lt; for the character itself, or put the text into <![CDATA[ "
      "... "
      "]]>";
  EXPECT_EQ(problems_of([] { read("examples__code_generation_game.xml"); }),
            (Lines{file + ":167:19" + stray, file + ":167:34" + stray, file + ":168:19" + stray,
                   file + ":168:34" + stray, file + ":198:25" + stray}));
}

TEST(PmlPublished, TheMalformedOneIsReadLeniently) {
  REPRISE_NEEDS_DATA();
  const std::string file = published("examples__code_generation_game.xml").string();
  std::vector<std::string> notes;
  const Schema schema = parse_schema(read_leniently(file, notes));
  const std::string said = ": \"<\" begins no tag; it is read as the character";
  EXPECT_EQ(notes, (Lines{file + ":167:19" + said, file + ":167:34" + said, file + ":168:19" + said,
                          file + ":168:34" + said, file + ":198:25" + said}));
  const CompiledSchema compiled = compile_schema(schema, word_encoder(), {});
  EXPECT_EQ(compiled.modules.size() - 1, 5u);
}

TEST(PmlPublished, ThePromptImportsAndBringsNothing) {
  REPRISE_NEEDS_DATA();
  const Prompt prompt =
      parse_prompt(Source::read(published("benchmark__schema__test__prompt_mbti.xml")));
  EXPECT_EQ(prompt.schema, "mbti");
  for (const Rules rules : {Rules::kPml, Rules::kAsCoded}) {
    const CompiledSchema schema = compile_schema(
        read("benchmark__schema__test__schema_mbti_short.xml"), byte_encoder(), {.rules = rules});
    EXPECT_NO_THROW(check_references(prompt, schema));
    EXPECT_EQ(
        problems_of([&] { compile_prompt(prompt, schema, byte_encoder()); }),
        (Lines{prompt.file + ":1:1: the prompt brings no text of its own, and a model answers new "
                             "tokens only; put a text behind the imports"}));
  }
}

// Checks lengths with the tokenizer alone, on texts cut out by hand.
class WithLlama2 : public ::testing::Test {
 protected:
  void SetUp() override {
    REPRISE_NEEDS_DATA();
    tokenizer_ = load_tokenizer(testing::data_dir() / "tokenizers" / "llama2");
  }
  int64_t length(const std::string& text) const {
    return static_cast<int64_t>(tokenizer_->encode(text, {.add_special = false}).size());
  }
  CompiledSchema layout(const std::string& name) const {
    return compile_schema(read(name), encoder_of(*tokenizer_), {.chat_template = "llama-2"});
  }

  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_F(WithLlama2, TheEmptySchemaIsItsSystemTurn) {
  const CompiledSchema schema = layout("benchmark__schema__test__empty.xml");
  const int64_t all = 1 + length("[INST] <<SYS>>\nYou are a helpful AI assistant.\n<</SYS>>\n\n");
  EXPECT_EQ(lines_of(schema), (Lines{fmt::format(". 0 {}", all), fmt::format("#1 0 {}", all)}));
  EXPECT_EQ(schema.pieces[0].tokens[0], 1) << "<s>";
}

TEST_F(WithLlama2, MbtiIsFourUnionsInARow) {
  const CompiledSchema schema = layout("benchmark__schema__test__schema_mbti_short.xml");
  const std::vector<std::vector<std::pair<const char*, const char*>>> unions = {
      {{"EI", ""},
       {"E", "E (focuses on the outside world and is energized by social interactions.)"},
       {"I", "I (prefers solitude and is energized by internal thoughts.)"}},
      {{"ST", ""},
       {"S", "S (practical, detail-oriented, prefers concrete information.)"},
       {"N", "N (imaginative, creative, focused on possibilities.)"}},
      {{"TF", ""},
       {"T", "T (makes decisions based on logic.)"},
       {"F", "F (values personal impact and harmony.)"}},
      {{"JP", ""},
       {"J", "J (prefers structure and plans.)"},
       {"P", "P (flexible and spontaneous.)"}}};
  const int64_t first_text =
      1 + length(
              "[INST] <<SYS>>\nDialogues between people and an AI with the aim of being helpful, "
              "aware, and accurate.\n<</SYS>>\n\nCreate a character based on MBTI. This character "
              "have:");
  const int64_t last_text = length(
                                " Ready to create the character? [/INST] A character named Alex is "
                                "created based on MBTI. "
                                "Ask anything about him. ") +
                            2 + length("[INST] ");
  int64_t position = first_text;
  Lines members;
  for (const auto& group : unions) {
    int64_t longest = 0;
    for (const auto& [name, text] : group) {
      const int64_t tokens = *text == '\0' ? 0 : length(text);
      members.push_back(fmt::format("{} {} {}", name, position, position + tokens));
      if (tokens > 0)
        members.push_back(fmt::format("{}#1 {} {}", name, position, position + tokens));
      longest = std::max(longest, tokens);
    }
    position += longest;
  }
  Lines expected = {fmt::format(". 0 {}", position + last_text), fmt::format("#1 0 {}", first_text),
                    fmt::format("#2 {} {}", position, position + last_text)};
  expected.insert(expected.end(), members.begin(), members.end());
  EXPECT_EQ(lines_of(schema), expected);
}

TEST_F(WithLlama2, TheTravelPlanNestsUnionsAndParameters) {
  const CompiledSchema schema = layout("examples__parameterized_prompts.xml");
  // Length of the text at the beginning of the plan.
  const int64_t lead = length(" I'm gearing up for a memorable escape for the duration of");
  const auto of_name = [&](const std::string& path) {
    for (const CompiledModule& module : schema.modules)
      if (module.path == path) return module;
    ADD_FAILURE() << path;
    return CompiledModule();
  };
  const CompiledModule plan = of_name("travel-plan");
  ASSERT_EQ(schema.parameters.size(), 2u);
  EXPECT_EQ(schema.parameters[0].first, plan.first + lead);
  EXPECT_FALSE(schema.parameters[0].begins_with_space);
  EXPECT_TRUE(schema.parameters[1].begins_with_space);
  const int64_t choice = plan.first + lead + 5 + length(".");
  const CompiledModule domestic = of_name("travel-plan/domestic");
  const CompiledModule overseas = of_name("travel-plan/overseas");
  EXPECT_EQ(domestic.first, choice);
  EXPECT_EQ(overseas.first, choice);
  EXPECT_EQ(plan.end, std::max(domestic.end, overseas.end));
  const CompiledModule rome = of_name("travel-plan/overseas/rome");
  const CompiledModule tokyo = of_name("travel-plan/overseas/tokyo");
  EXPECT_EQ(rome.first, tokyo.first);
  EXPECT_EQ(
      rome.first,
      choice + length(" I'm yearning to tread international soils, to immerse myself in unfamiliar "
                      "cultures, sceneries, and\n                    stories."));
}

// "[to be filled later]" is six Llama 2 tokens, but the parameter for which it stands has room for
// five.
TEST_F(WithLlama2, APublishedScaffoldTextIsTooLong) {
  const std::string file =
      published("benchmark__schema__test__schema_code_generation.xml").string();
  ASSERT_EQ(length("[to be filled later]"), 6);
  EXPECT_EQ(problems_of([&] { layout("benchmark__schema__test__schema_code_generation.xml"); }),
            (Lines{file + ":15:9: scaffold=\"[to be filled later]\" takes 6 tokens, and parameter "
                          "\"param-name\" holds 5; shorten it, or raise the length"}));
}

TEST_F(WithLlama2, TheOthersAreLaidOutWithEveryTemplate) {
  for (const Published& expected : kPublished) {
    if (expected.parameters == 3) continue;  // APublishedScaffoldTextIsTooLong
    for (const char* name : {"llama-2", "falcon", "mpt", "plain"}) {
      const CompiledSchema schema = compile_schema(read(expected.name), encoder_of(*tokenizer_),
                                                   {.chat_template = name, .max_positions = 8192});
      EXPECT_GT(schema.length, 0) << expected.name;
    }
  }
}

}  // namespace
}  // namespace reprise::pml
