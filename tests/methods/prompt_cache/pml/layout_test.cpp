// Tests positions by hand with one token per word, and texts and templates with one token per byte.
#include "methods/prompt_cache/pml/layout.h"

#include "tests/methods/prompt_cache/pml/pml_testing.h"

namespace reprise::pml {
namespace {

Lines layout_of(const std::string& inside, const LayoutOptions& options = {}) {
  return lines_of(compiled(in_schema(inside), word_encoder(), options));
}
Lines bytes_of(const std::string& inside, const LayoutOptions& options = {}) {
  return texts_of(compiled(in_schema(inside), byte_encoder(), options));
}

TEST(PmlLayout, TextsModulesAndParametersFollowEachOther) {
  EXPECT_EQ(
      layout_of("one two\n<module name=\"plan\">three four five <param name=\"days\" len=\"2\"/> "
                "six</module> end"),
      (Lines{". 0 9", "#1 0 2", "#2 8 9", "plan 2 8", "plan#1 2 5", "plan:days 5 7",
             "plan#2 7 8"}));
}

TEST(PmlLayout, MembersOfAUnionShareTheirStartAndItTakesTheLongest) {
  EXPECT_EQ(
      layout_of("a <union scaffold=\"y\"><module name=\"x\">1 2</module><module name=\"y\">1 2 3 "
                "4</module><module name=\"z\"/></union> b"),
      (Lines{". 0 6", "#1 0 1", "#2 5 6", "x 1 3", "x#1 1 3", "y 1 5", "y#1 1 5", "z 1 1"}));
  const CompiledSchema schema = compiled(
      in_schema("<union><module name=\"x\">1</module><module name=\"y\"><union "
                "scaffold=\"v\"><module name=\"v\">1 2 3</module><module name=\"w\">1</module>"
                "</union>4</module></union>5"),
      word_encoder());
  EXPECT_EQ(lines_of(schema), (Lines{". 0 5", "#1 4 5", "x 0 1", "x#1 0 1", "y 0 4", "y#1 3 4",
                                     "y/v 0 3", "y/v#1 0 3", "y/w 0 1", "y/w#1 0 1"}));
  ASSERT_EQ(schema.unions.size(), 2u);
  EXPECT_EQ(schema.unions[0].end, 4);
  EXPECT_EQ(schema.unions[0].default_member, -1);
  EXPECT_EQ(schema.modules[static_cast<size_t>(schema.unions[1].default_member)].path, "y/v");
  EXPECT_EQ(joint_passes(schema), 1 + 2 + 2) << "v is no default of the first pass";
}

TEST(PmlLayout, NestedModulesStandWhereTheirParentHasThem) {
  EXPECT_EQ(layout_of("<module name=\"a\">x <module name=\"b\">y z</module> w</module>"),
            (Lines{". 0 4", "a 0 4", "a#1 0 1", "a#2 3 4", "a/b 1 3", "a/b#1 1 3"}));
}

// [Prompt Cache §3.2.1]: without an identifier a module is anonymous, and always included.
TEST(PmlLayout, AModuleWithoutANameBelongsToWhatIsAroundIt) {
  EXPECT_EQ(layout_of("a<module>b c<module name=\"x\">d<module>e</module></module></module> f"),
            (Lines{". 0 6", "#1 0 1", "#2 1 3", "#3 5 6", "x 3 5", "x#1 3 4", "x#2 4 5"}));
  EXPECT_EQ(bytes_of("\n<module>\n a b\n</module>\n c"), bytes_of("a b<gap len=\"1\"/> c"));
}

TEST(PmlLayout, AGapTakesPositionsWithoutTokens) {
  EXPECT_EQ(layout_of("a <gap len=\"5\"/> b <module name=\"m\">c<gap length=\"2\"/></module>"),
            (Lines{". 0 10", "#1 0 1", "#2 6 7", "m 7 10", "m#1 7 8"}));
}

TEST(PmlLayout, AParametersPlaceholderIsItsScaffoldAndThenUnknownWords) {
  const CompiledSchema schema = compiled(
      in_schema("<module name=\"m\"><param name=\"p\" len=\"4\" scaffold=\"7 8\"/></module>"),
      word_encoder());
  ASSERT_EQ(schema.parameters.size(), 1u);
  const Piece& piece = schema.pieces[static_cast<size_t>(schema.parameters[0].piece)];
  EXPECT_EQ(piece.tokens, (std::vector<int32_t>{7, 8, kUnknownWord, kUnknownWord}));
  EXPECT_EQ(schema.name_of(piece), "m:p");
  EXPECT_EQ(
      problems_of([] {
        layout_of("<module name=\"m\">\n<param name=\"p\" len=\"1\" scaffold=\"7 8\"/></module>");
      }),
      (Lines{"s.xml:3:1: scaffold=\"7 8\" takes 2 tokens, and parameter \"p\" holds 1; shorten "
             "it, or raise the length"}));
}

TEST(PmlLayout, ScaffoldsAndUncachedModulesAreKept) {
  const CompiledSchema schema = compiled(
      in_schema("<module name=\"a\" cache=\"false\">1<module name=\"b\">2</module></module>"
                "<scaffold modules=\"a/b .\"/>"),
      word_encoder());
  ASSERT_EQ(schema.scaffolds.size(), 1u);
  EXPECT_EQ(schema.scaffolds[0].modules, (std::vector<int32_t>{0, 2}));
  EXPECT_FALSE(schema.modules[1].is_cached);
  EXPECT_TRUE(schema.modules[2].is_cached);
}

TEST(PmlLayout, TheModelsPositionsAndTheLimitsEndIt) {
  EXPECT_NO_THROW(layout_of("1 2 3\n<module name=\"a\">4 5</module>", {.max_positions = 5}));
  EXPECT_EQ(
      problems_of(
          [] { layout_of("1 2 3\n<module name=\"a\">4 5</module>", {.max_positions = 4}); }),
      (Lines{"s.xml:3:18: the schema takes 5 positions up to here, and the model has 4; shorten "
             "it, or put what excludes each other into a union"}));
  // The error must come before the placeholders are allocated.
  std::string many = "<module name=\"a\">\n";
  for (int i = 0; i < 5; ++i) many += fmt::format("<param name=\"p{}\" len=\"4000000\"/>\n", i);
  EXPECT_EQ(
      problems_of([&] { layout_of(many + "</module>"); }),
      (Lines{"s.xml:4:1: the schema takes more than 4194304 positions up to here; split it"}));
}

TEST(PmlText, WhiteSpaceBelongsToTheTextThatFollowsIt) {
  EXPECT_EQ(
      bytes_of(
          "  first  <module name=\"m\">\n  a \n b\t</module>  c <module name=\"n\"> </module> "),
      (Lines{"first", " a \n b", " c"}));
  const CompiledSchema schema = compiled(
      in_schema("<module name=\"m\">of <param name=\"p\" len=\"9\"/> days<param name=\"q\" "
                "len=\"9\"/>\n<param name=\"r\" len=\"9\"/></module>"),
      byte_encoder());
  EXPECT_EQ(texts_of(schema), (Lines{"of", " days"}));
  ASSERT_EQ(schema.parameters.size(), 3u);
  EXPECT_TRUE(schema.parameters[0].begins_with_space);
  EXPECT_FALSE(schema.parameters[1].begins_with_space);
  EXPECT_TRUE(schema.parameters[2].begins_with_space);
}

// The border of a module without a name separates texts, and takes no position.
TEST(PmlText, WhiteSpaceBeforeABorderBelongsToWhatFollowsIt) {
  const CompiledSchema schema = compiled(
      in_schema(
          "<module name=\"m\">City: <module><module/><param name=\"p\" len=\"9\"/></module> in "
          "<module>Italy<param name=\"q\" len=\"9\"/></module>: "
          "<module name=\"n\"><param name=\"r\" len=\"9\"/></module></module>"),
      byte_encoder());
  EXPECT_EQ(texts_of(schema), (Lines{"City:", " in", " Italy", ":"}));
  ASSERT_EQ(schema.parameters.size(), 3u);
  EXPECT_TRUE(schema.parameters[0].begins_with_space);
  EXPECT_FALSE(schema.parameters[1].begins_with_space);
  EXPECT_FALSE(schema.parameters[2].begins_with_space) << "the white space is outside of module n";
  EXPECT_EQ(bytes_of("a <module><system/>b</module>"), (Lines{"a", "<s>b"}));
  EXPECT_EQ(problems_of([] { layout_of("1 <module>\n2 3</module>", {.max_positions = 2}); }),
            (Lines{"s.xml:3:1: the schema takes 3 positions up to here, and the model has 2; "
                   "shorten it, or put what excludes each other into a union"}));
}

TEST(PmlText, CommentsVanishAndCdataStays) {
  EXPECT_EQ(bytes_of("<module name=\"m\">foo<!-- no -->bar <!-- no --> </module>"),
            (Lines{"foobar"}));
  EXPECT_EQ(bytes_of("<module name=\"m\"> <![CDATA[  if a <= b:\n ]]></module>"),
            (Lines{"   if a <= b:\n "}));
  EXPECT_EQ(bytes_of("<module name=\"m\">a <![CDATA[]]> b &lt;&#65;&gt;</module>"),
            (Lines{"a  b <A>"}));
}

// The schema that python_to_pml_test.py expects of a program: each text keeps its ends.
TEST(PmlText, PythonToPmlKeepsTheEndsOfTexts) {
  const CompiledSchema schema = compiled(
      "<schema name=\"a\"><![CDATA[  ]]>x<![CDATA[ \n]]><module name=\"b\"><![CDATA[ ]]>y"
      "<![CDATA[  ]]></module><![CDATA[\n]]><module name=\"c\"><![CDATA[  ]]>p "
      "<param name=\"d\" "
      "len=\"3\"/><![CDATA[\t]]>q<![CDATA[\n]]></module><![CDATA[]]>&#13;<![CDATA[\n]]>z"
      "</schema>",
      byte_encoder());
  EXPECT_EQ(texts_of(schema), (Lines{"  x \n", " y  ", "\n", "  p", "\tq\n", "\r\nz"}));
  ASSERT_EQ(schema.parameters.size(), 1u);
  EXPECT_TRUE(schema.parameters[0].begins_with_space);
}

TEST(PmlText, AsCodedBothEndsBecomeOneSpace) {
  const LayoutOptions coded{.rules = Rules::kAsCoded};
  EXPECT_EQ(
      bytes_of("first<module name=\"m\">\n\n a \n b\t\n</module>\n<module name=\"n\"> </module>",
               coded),
      (Lines{" first", " a \n b ", " ", " ", " "}));
  // U+3000 and U+00A0 are white space in Python's \s too.
  EXPECT_EQ(bytes_of("<module name=\"m\">\xe3\x80\x80 a\xe3\x80\x80"
                     "b\xc2\xa0</module>",
                     coded),
            (Lines{" ",
                   " a\xe3\x80\x80"
                   "b ",
                   " "}));
}

// The authors' pattern takes away the spaces before <system>, but not line breaks. Each of these
// texts begins with a line break, that of in_schema().
TEST(PmlText, AsCodedALineBreakBeforeSystemStays) {
  const auto with = [](const std::string& before) {
    return bytes_of(before + "<system>Be kind.</system><module name=\"m\">x</module>",
                    {.chat_template = "plain", .rules = Rules::kAsCoded})
        .front();
  };
  EXPECT_EQ(with(""), " Be kind.");
  EXPECT_EQ(with("  "), " Be kind.");
  EXPECT_EQ(with("x  "), " xBe kind.");
  EXPECT_EQ(with("x\n  "), " x\nBe kind.");
  EXPECT_EQ(bytes_of("x  <system/>y", {.chat_template = "plain", .rules = Rules::kAsCoded}),
            (Lines{" x  y "}));
}

constexpr const char* kConversation =
    "<system> You are kind. </system>\n<user> Hi <module name=\"m\"/> </user>\n<assistant> Hello "
    "</assistant>";

TEST(PmlChat, EachTemplateWritesItsTurns) {
  const auto turns = [](const char* name) {
    return bytes_of(kConversation, {.chat_template = name});
  };
  EXPECT_EQ(turns("llama-2"), (Lines{"<s>[INST] <<SYS>>\nYou are kind.\n<</SYS>>\n\nHi",
                                     " [/INST] Hello </s><s>[INST] "}));
  EXPECT_EQ(turns("llama-3"),
            (Lines{"<s><|start_header_id|>system<|end_header_id|>\n\nYou are kind.<|eot_id|>"
                   "<|start_header_id|>user<|end_header_id|>\n\nHi",
                   "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nHello<|eot_id|>"}));
  EXPECT_EQ(turns("falcon"), (Lines{"You are kind.\n\nUser: Hi", "\n\nAssistant: Hello\n\n"}));
  EXPECT_EQ(turns("mpt"),
            (Lines{"<|im_start|>system\nYou are kind.<|im_end|>\n<|im_start|>user\nHi",
                   "<|im_end|>\n<|im_start|>assistant\nHello<|im_end|>\n"}));
  EXPECT_EQ(turns("plain"), (Lines{"<s>You are kind.\nHi", "\nHello\n"}));
}

TEST(PmlChat, AsCodedTheTagsBecomeTextBeforeWhiteSpaceIsTrimmed) {
  const auto turns = [](const char* name) {
    return bytes_of(kConversation, {.chat_template = name, .rules = Rules::kAsCoded});
  };
  EXPECT_EQ(turns("llama-2"), (Lines{" <s> [INST] <<SYS>>\n You are kind. <</SYS>>\n\n\n Hi ",
                                     " [/INST]\n Hello </s><s> [INST] "}));
  EXPECT_EQ(bytes_of("<system/><user>Hi</user><assistant>Hello</assistant><user>Why?</user>",
                     {.chat_template = "llama-2", .rules = Rules::kAsCoded}),
            (Lines{" <s> [INST] Hi[/INST]Hello</s><s> [INST] Why?[/INST] "}));
  EXPECT_EQ(turns("falcon"), (Lines{" You are kind. \n\n\nUser:  Hi ", " Assistant:\n  Hello "}));
  EXPECT_EQ(
      problems_of([&] { turns("llama-3"); }),
      (Lines{"unknown chat template of the released code \"llama-3\", did you mean \"llama-2\"? "
             "Known: llama-2, falcon, mpt, plain"}));
}

TEST(PmlChat, HalvesWriteWhatWholeTurnsDo) {
  for (const std::string& name : template_names()) {
    const LayoutOptions options{.chat_template = name};
    EXPECT_EQ(
        bytes_of("<system/><user>Hi <module name=\"m\"/></user>", options),
        bytes_of("<system/><user part=\"open\"/>Hi <module name=\"m\"/><user part=\"close\"/>",
                 options));
  }
  EXPECT_EQ(bytes_of("<system/><user>Hi</user>", {.chat_template = "llama-2"}),
            (Lines{"<s>[INST] Hi [/INST]"}));
}

TEST(PmlChat, TemplatesAreChosenByNameAndNeedTheirTokens) {
  EXPECT_EQ(
      problems_of([] { bytes_of("a", {.chat_template = "lama-2"}); }),
      (Lines{"unknown chat template \"lama-2\", did you mean \"llama-2\"? Known: llama-2, llama-3, "
             "falcon, mpt, zephyr, mistral, mistral-0.1, plain"}));
  EXPECT_EQ(problems_of([] { bytes_of("<system>a</system>", {.chat_template = "mistral"}); }),
            (Lines{"chat template mistral knows no system text: put it into the first user's turn, "
                   "or choose another template, such as plain"}));
  // A schema without turns needs no template.
  EXPECT_EQ(bytes_of("a", {.chat_template = std::string(kUnrecognized)}), Lines{"a"});
  const Lines problems = problems_of(
      [] { bytes_of("<user>a</user>", {.chat_template = std::string(kUnrecognized)}); });
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("known (llama-2, "), std::string::npos);
  EXPECT_EQ(
      problems_of([] { layout_of("<system/>a", {.chat_template = "llama-2"}); }),
      (Lines{"chat template llama-2 writes the tokens that begin and end a text around turns, and "
             "the tokenizer names none; leave out the turns, or choose another template, such as "
             "plain"}));
  EXPECT_EQ(layout_of("a", {.chat_template = "llama-2"}), (Lines{". 0 1", "#1 0 1"}))
      << "without a turn, no token is needed";
}

}  // namespace
}  // namespace reprise::pml
