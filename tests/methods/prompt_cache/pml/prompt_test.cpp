// Tests prompts for small schemas: the positions of imported and new tokens.
#include "methods/prompt_cache/pml/prompt.h"

#include <filesystem>
#include <fstream>

#include "tests/core/model/checkpoint/model_files.h"
#include "tests/methods/prompt_cache/pml/pml_testing.h"

namespace reprise::pml {
namespace {

// Positions: "one two" 0-1; plan 2-4, its days 5-6, its six 7, its pace 8; miami 9-11 or rome 9-13;
// "end" 14.
constexpr const char* kTrip = R"(<schema name="trip">one two
<module name="plan">three four five <param name="days" len="2"/> six
  <module name="pace">slow</module></module>
<union><module name="miami">a b c</module>
<module name="rome">a b c d e</module></union> end
</schema>)";

// Lines "name first end" of a prompt's parts in the order of CompiledPrompt, with "+" for new
// tokens.
Lines parts_of(const CompiledPrompt& prompt, const CompiledSchema& schema) {
  Lines lines;
  for (const int32_t id : prompt.pieces) {
    const Piece& piece = schema.pieces[static_cast<size_t>(id)];
    lines.push_back(fmt::format("{} {} {}", schema.name_of(piece), piece.first, piece.end()));
  }
  for (const NewRun& run : prompt.new_runs) {
    const std::string name =
        run.kind == NewKind::kText ? "text"
        : run.kind == NewKind::kArgument
            ? schema.name_of(schema.parameters[static_cast<size_t>(run.parameter)])
            : schema.name_of(schema.pieces[static_cast<size_t>(run.piece)]);
    lines.push_back(fmt::format("+{} {} {}", name, run.first, run.end()));
  }
  return lines;
}

class Trip : public ::testing::Test {
 protected:
  CompiledPrompt derive(const std::string& inside, int64_t max_positions = 0) const {
    return compile_prompt(prompt_of("<prompt schema=\"trip\">\n" + inside + "</prompt>"), schema_,
                          encoder_, max_positions);
  }
  Lines parts(const std::string& inside) const { return parts_of(derive(inside), schema_); }
  void expect_problems(const std::string& inside, const Lines& expected,
                       int64_t max_positions = 0) const {
    EXPECT_EQ(problems_of([&] { derive(inside, max_positions); }), expected) << inside;
  }

  TextEncoder encoder_ = word_encoder();
  CompiledSchema schema_ = compiled(kTrip, encoder_);
};

TEST_F(Trip, TheSchemaStandsAsSaid) {
  EXPECT_EQ(lines_of(schema_),
            (Lines{". 0 15", "#1 0 2", "#2 14 15", "plan 2 9", "plan#1 2 5", "plan:days 5 7",
                   "plan#2 7 8", "plan/pace 8 9", "plan/pace#1 8 9", "miami 9 12", "miami#1 9 12",
                   "rome 9 14", "rome#1 9 14"}));
}

TEST_F(Trip, ImportsArgumentsAndAQuestion) {
  const CompiledPrompt prompt = derive("<plan days=\"3 days\"/><miami/> where to surf");
  EXPECT_EQ(parts_of(prompt, schema_), (Lines{"#1 0 2", "plan#1 2 5", "plan#2 7 8", "miami#1 9 12",
                                              "#2 14 15", "+plan:days 5 7", "+text 15 18"}));
  EXPECT_EQ(prompt.modules, (std::vector<int32_t>{0, 1, 3}));
  EXPECT_EQ(prompt.cached_tokens, 10);
  EXPECT_EQ(prompt.new_tokens, 5);
  EXPECT_EQ(prompt.end, 18);
}

TEST_F(Trip, ChildrenAreImportedInsideTheirParentsAndOrderIsFree) {
  EXPECT_EQ(parts("<rome/><plan><pace/></plan> go"),
            (Lines{"#1 0 2", "plan#1 2 5", "plan#2 7 8", "plan/pace#1 8 9", "rome#1 9 14",
                   "#2 14 15", "+text 15 16"}));
}

TEST_F(Trip, ShortArgumentsLeaveAGapAndEmptyOnesBringNothing) {
  EXPECT_EQ(parts("<plan days=\"three\"/> go").at(4), "+plan:days 5 6");
  EXPECT_EQ(parts("<plan days=\"\"/> go").at(4), "+text 15 16");
}

TEST_F(Trip, TextGoesIntoGapsAndTheLastBehindTheSchema) {
  // The text begins behind miami, which is shorter than rome.
  EXPECT_EQ(parts("<miami/> q r <plan/> tail"),
            (Lines{"#1 0 2", "plan#1 2 5", "plan#2 7 8", "miami#1 9 12", "#2 14 15", "+text 12 14",
                   "+text 15 16"}));
  // The text takes the positions of the plan, which is not imported.
  EXPECT_EQ(parts("q r s <miami/> tail"),
            (Lines{"#1 0 2", "miami#1 9 12", "#2 14 15", "+text 2 5", "+text 15 16"}));
  EXPECT_EQ(parts("only text"), (Lines{"#1 0 2", "#2 14 15", "+text 15 17"}));
}

TEST_F(Trip, TextWithoutRoomIsRefused) {
  expect_problems(
      "<miami/> q r s <plan/> tail",
      {"p.xml:2:10: the text behind \"miami\" takes 3 tokens, and 2 positions are free "
       "there; put it behind the last import, shorten it, or make room in the schema with "
       "<gap len=\"3\"/>"});
  expect_problems(
      "<plan/> q <miami/> tail",
      {"p.xml:2:9: the text behind \"plan\" takes 1 tokens, and 0 positions are free there; "
       "put it behind the last import, shorten it, or make room in the schema with <gap "
       "len=\"1\"/>"});
  expect_problems(
      "q <plan/> tail",
      {"p.xml:2:1: the text before \"plan\" takes 1 tokens, and 0 positions are free there; "
       "put it behind the last import, shorten it, or make room in the schema with <gap "
       "len=\"1\"/>"});
}

TEST(PmlPrompt, TwoTextsShareAGap) {
  const TextEncoder encoder = word_encoder();
  const CompiledSchema schema = compiled(
      in_schema("1<module name=\"a\">2</module><gap len=\"4\"/><module name=\"b\">3</module>"
                "<module name=\"c\">4</module>"),
      encoder);
  const auto derive = [&](const std::string& inside) {
    return parts_of(
        compile_prompt(prompt_of("<prompt schema=\"s\">" + inside + "</prompt>"), schema, encoder),
        schema);
  };
  // Both texts would begin where module a ends.
  EXPECT_EQ(derive("5 <b/><a/>6 7 8<c/>9"), (Lines{"#1 0 1", "a#1 1 2", "b#1 6 7", "c#1 7 8",
                                                   "+text 2 3", "+text 3 6", "+text 8 9"}));
  EXPECT_EQ(
      problems_of([&] { derive("5 <b/><a/>6 7 8 9<c/>9"); }),
      (Lines{"p.xml:1:30: the text behind \"a\" takes 4 tokens, and 3 positions are free there; "
             "put it behind the last import, shorten it, or make room in the schema with <gap "
             "len=\"4\"/>"}));
}

TEST_F(Trip, ReferencesThatDoNotFitAreNamed) {
  expect_problems("<miami/>\n<rome/> go",
                  {"p.xml:3:1: \"rome\" and \"miami\" (line 2) are of one union, "
                   "of which a prompt has one; take one out"});
  expect_problems("<miami/>\n<miami/> go",
                  {"p.xml:3:1: module \"miami\" is imported in line 2 already; import it once"});
  expect_problems("<miam/> go",
                  {"p.xml:2:1: unknown module \"miam\", did you mean \"miami\"? Known: "
                   "plan, miami, rome"});
  expect_problems("<pace/> go",
                  {"p.xml:2:1: unknown module \"pace\". Known: plan, miami, rome; import "
                   "\"plan/pace\" inside <plan>"});
  expect_problems(
      "<plan><rome/></plan> go",
      {"p.xml:2:7: unknown module of \"plan\" \"rome\". Known: pace; \"rome\" is imported by "
       "itself, not inside another module"});
  expect_problems("<plan day=\"3\"/> go",
                  {"p.xml:2:7: unknown parameter of \"plan\" \"day\", did you "
                   "mean \"days\"? Known: days"});
  expect_problems("<miami day=\"3\"/> go",
                  {"p.xml:2:8: unknown parameter of \"miami\" \"day\"; there are none here"});
  expect_problems("<plan days=\"one two three\"/> go",
                  {"p.xml:2:7: argument \"days\" takes 3 tokens, and the parameter holds 2 "
                   "(s.xml:2:37); shorten it, or raise the length"});
  expect_problems(
      "<miam/><plan day=\"3\"/>\n<rome/><miami/> go",
      {"p.xml:2:1: unknown module \"miam\", did you mean \"miami\"? Known: plan, miami, rome",
       "p.xml:2:14: unknown parameter of \"plan\" \"day\", did you mean \"days\"? Known: days",
       "p.xml:3:8: \"miami\" and \"rome\" (line 3) are of one union, of which a prompt has "
       "one; take one out"});
}

TEST_F(Trip, PromptsNeedNewTokensPositionsAndTheirSchema) {
  for (const char* inside : {"", "<plan/>", "<plan days=\"\"/>\n<!-- none -->"})
    expect_problems(inside,
                    {"p.xml:1:1: the prompt brings no text of its own, and a model answers new "
                     "tokens only; put a text behind the imports"});
  EXPECT_NO_THROW(derive("a b c", 18));
  expect_problems(
      "a b c d",
      {"p.xml:2:1: the prompt takes 19 positions up to here, and the model has 18; shorten "
       "the text, or the schema"},
      18);
  EXPECT_EQ(
      problems_of([&] {
        compile_prompt(prompt_of("<prompt schema=\"tripp\">a</prompt>"), schema_, encoder_);
      }),
      (Lines{"p.xml:1:1: the prompt is of schema \"tripp\", and s.xml holds \"trip\"; give the "
             "schema that it names"}));
}

// Compiles the example of docs/pml.md, which shows a schema and then a prompt, each indented.
TEST(PmlPrompt, TheDocumentedExampleIsDerived) {
  std::ifstream page(std::filesystem::path(REPRISE_SOURCE_DIR) / "docs" / "pml.md");
  std::vector<std::string> examples = {""};
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("    "))
      examples.back() += line.substr(4) + "\n";
    else if (!examples.back().empty())
      examples.emplace_back();
  }
  ASSERT_GE(examples.size(), 2u);
  const model::TempDir folder;
  folder.write("rome.txt", "Rome has hills.");
  const Schema schema = parse_schema(Source::read(folder.write("trip.xml", examples[0])));
  const TextEncoder encoder = byte_encoder();
  const CompiledSchema laid_out = compile_schema(schema, encoder, {.chat_template = "llama-2"});
  const CompiledPrompt prompt = compile_prompt(prompt_of(examples[1]), laid_out, encoder);
  ASSERT_EQ(prompt.new_runs.size(), 2u);
  EXPECT_EQ(text_of(prompt.new_runs[1].tokens), " Where do I surf? [/INST]");
  EXPECT_EQ(prompt.scaffolds, (std::vector<int32_t>{0}));
}

TEST(PmlPromptChat, TurnsOpenedInTheSchemaAreClosedInThePrompt) {
  const TextEncoder encoder = byte_encoder();
  const CompiledSchema schema = compiled(
      "<schema name=\"s\"><system/><user part=\"open\"/><module name=\"m\">Text.</module></schema>",
      encoder, {.chat_template = "llama-2"});
  const CompiledPrompt prompt = compile_prompt(
      prompt_of("<prompt schema=\"s\"><m/>\n Why? <user part=\"close\"/><assistant part=\"open\"/> "
                "Because</prompt>"),
      schema, encoder);
  ASSERT_EQ(prompt.new_runs.size(), 1u);
  EXPECT_EQ(text_of(prompt.new_runs[0].tokens), " Why? [/INST] Because");
  EXPECT_EQ(
      problems_of([&] {
        compile_prompt(prompt_of("<prompt schema=\"s\">a<user part=\"close\"/>\n<user "
                                 "part=\"close\"/></prompt>"),
                       schema, encoder);
      }),
      (Lines{"p.xml:2:1: <user part=\"close\"/> closes no turn of the schema or the prompt; write "
             "<user part=\"open\"/> before it"}));
}

TEST(PmlPromptChat, ImportsMayStandInsideATurn) {
  const TextEncoder encoder = byte_encoder();
  const CompiledSchema schema = compiled(
      "<schema name=\"s\"><system>Be kind.</system><gap len=\"60\"/><module name=\"m\">Text."
      "</module></schema>",
      encoder, {.chat_template = "llama-3"});
  const CompiledPrompt prompt = compile_prompt(
      prompt_of("<prompt schema=\"s\"><user><m/> Why?</user></prompt>"), schema, encoder);
  ASSERT_EQ(prompt.new_runs.size(), 2u);
  EXPECT_EQ(text_of(prompt.new_runs[0].tokens), "<|start_header_id|>user<|end_header_id|>\n\n");
  EXPECT_EQ(prompt.new_runs[0].first, schema.pieces[0].end());
  EXPECT_EQ(text_of(prompt.new_runs[1].tokens),
            " Why?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n");
}

TEST(PmlPromptText, AnArgumentBeginsWithTheSpaceBeforeItsParameter) {
  const TextEncoder encoder = byte_encoder();
  const CompiledSchema schema =
      compiled(in_schema("<module name=\"m\">for <param name=\"p\" len=\"9\"/>:<param name=\"q\" "
                         "len=\"9\"/></module>"),
               encoder);
  const CompiledPrompt prompt = compile_prompt(
      prompt_of("<prompt schema=\"s\"><m p=\"3 days\" q=\"now\"/></prompt>"), schema, encoder);
  ASSERT_EQ(prompt.new_runs.size(), 2u);
  EXPECT_EQ(text_of(prompt.new_runs[0].tokens), " 3 days");
  EXPECT_EQ(text_of(prompt.new_runs[1].tokens), "now");
}

TEST(PmlPromptCache, UncachedModulesAreComputedWithThePrompt) {
  const TextEncoder encoder = word_encoder();
  const std::string text =
      in_schema("1 2<module name=\"m\" cache=\"false\">3 4<module name=\"n\">5</module></module>");
  const Prompt prompt = prompt_of("<prompt schema=\"s\"><m><n/></m>6</prompt>");
  const CompiledSchema schema = compiled(text, encoder);
  EXPECT_EQ(parts_of(compile_prompt(prompt, schema, encoder), schema),
            (Lines{"#1 0 2", "m/n#1 4 5", "+m#1 2 4", "+text 5 6"}));
  // The released code reads the attribute and does nothing with it.
  const CompiledSchema coded = compiled(text, encoder, {.rules = Rules::kAsCoded});
  EXPECT_EQ(parts_of(compile_prompt(prompt, coded, encoder), coded),
            (Lines{"#1 0 2", "m#1 2 4", "m/n#1 4 5", "+text 5 6"}));
}

TEST(PmlPromptScaffolds, CompleteOnesOverrideTheLargestFirst) {
  const TextEncoder encoder = word_encoder();
  const CompiledSchema schema = compiled(
      in_schema(
          "0<module name=\"a\">1</module><module name=\"b\">2</module><module name=\"c\">3</module>"
          "<module name=\"d\">4</module><scaffold modules=\"a b\"/><scaffold modules=\". a b\"/>"
          "<scaffold modules=\"c d\"/><scaffold modules=\"b c\"/>"),
      encoder);
  const auto chosen = [&](const std::string& imports) {
    return compile_prompt(prompt_of("<prompt schema=\"s\">" + imports + "9</prompt>"), schema,
                          encoder)
        .scaffolds;
  };
  EXPECT_EQ(chosen("<a/><c/>"), (std::vector<int32_t>{}));
  EXPECT_EQ(chosen("<a/><b/>"), (std::vector<int32_t>{1}));
  EXPECT_EQ(chosen("<b/><c/>"), (std::vector<int32_t>{3}));
  EXPECT_EQ(chosen("<b/><c/><d/>"), (std::vector<int32_t>{2}));
  EXPECT_EQ(chosen("<a/><b/><c/><d/>"), (std::vector<int32_t>{1, 2}));
}

TEST(PmlPromptAsCoded, ArgumentsComeFirstAndTextOnlyBehindTheImports) {
  const TextEncoder encoder = byte_encoder();
  const CompiledSchema schema = compiled(
      "<schema name=\"s\"><module name=\"a\">x<parameter name=\"p\" length=\"3\"/></module><module "
      "name=\"b\" cache=\"false\">y</module></schema>",
      encoder, {.rules = Rules::kAsCoded});
  const CompiledPrompt prompt = compile_prompt(
      prompt_of("<prompt schema=\"s\">\n <b/> <a p=\"no\"/>\nWhy? </prompt>"), schema, encoder);
  ASSERT_EQ(prompt.new_runs.size(), 2u);
  EXPECT_EQ(prompt.new_runs[0].kind, NewKind::kArgument);
  EXPECT_EQ(text_of(prompt.new_runs[1].tokens), "Why?");
  EXPECT_EQ(prompt.new_runs[1].first, schema.length);
  for (const char* misplaced : {"<a/>\nand <b/>", "\nWell, <a/> why?"})
    EXPECT_EQ(problems_of([&] {
                compile_prompt(
                    prompt_of("<prompt schema=\"s\">" + std::string(misplaced) + "</prompt>"),
                    schema, encoder);
              }),
              (Lines{"p.xml:2:1: the released code refuses text before the first import, and may "
                     "drop text between imports; put it behind the last one, or lay the prompt out "
                     "by PML's own rules"}))
        << misplaced;
}

// The released code takes the references of a prompt from a stack.
TEST(PmlPromptAsCoded, ArgumentsComeInTheOrderOfItsStack) {
  const TextEncoder encoder = byte_encoder();
  const std::string parameters =
      "<parameter name=\"p\" length=\"2\"/><parameter name=\"q\" length=\"2\"/>";
  const auto module = [&](const std::string& name, const std::string& inner) {
    return "<module name=\"" + name + "\">" + parameters + inner + "</module>";
  };
  const std::string text = "<schema name=\"s\">" + module("a", module("c", "") + module("d", "")) +
                           module("b", "") + "</schema>";
  const Prompt prompt = prompt_of(
      "<prompt schema=\"s\"><a q=\"aq\" p=\"ap\"><c p=\"cp\"/><d p=\"dp\"/></a><b p=\"bp\" "
      "q=\"bq\"/>?</prompt>");
  const auto arguments = [&](Rules rules) {
    const CompiledSchema schema = compiled(text, encoder, {.rules = rules});
    Lines lines;
    for (const NewRun& run : compile_prompt(prompt, schema, encoder).new_runs)
      if (run.kind == NewKind::kArgument) lines.push_back(text_of(run.tokens));
    return lines;
  };
  EXPECT_EQ(arguments(Rules::kAsCoded), (Lines{"bp", "bq", "aq", "ap", "dp", "cp"}));
  EXPECT_EQ(arguments(Rules::kPml), (Lines{"ap", "aq", "cp", "dp", "bp", "bq"}));
}

}  // namespace
}  // namespace reprise::pml
