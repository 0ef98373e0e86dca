// Tests which schemas and prompts are refused, with the exact message and place, and what is read
// from others.
#include "methods/prompt_cache/pml/parse.h"

#include <filesystem>
#include <fstream>

#include "tests/core/model/checkpoint/model_files.h"
#include "tests/methods/prompt_cache/pml/pml_testing.h"

namespace reprise::pml {
namespace {

namespace fs = std::filesystem;

void expect_problems(const std::string& text, const Lines& expected) {
  EXPECT_EQ(problems_of([&] { schema_of(text); }), expected) << text;
}
void expect_inside(const std::string& inside, const Lines& expected) {
  expect_problems(in_schema(inside), expected);
}
void expect_prompt(const std::string& text, const Lines& expected) {
  EXPECT_EQ(problems_of([&] { prompt_of(text); }), expected) << text;
}

TEST(PmlMarkup, WhatBreaksXmlIsNamedWithItsPlace) {
  expect_inside("a < b <= c",
                {"s.xml:2:3: \"<\" begins no tag; write &lt; for the character itself, or put the "
                 "text into <![CDATA[ ... ]]>",
                 "s.xml:2:7: \"<\" begins no tag; write &lt; for the character itself, or put the "
                 "text into <![CDATA[ ... ]]>"});
  expect_inside("a & b",
                {"s.xml:2:3: \"&\" begins no reference; write &amp; for the character itself"});
  expect_inside("caf\u00e9 &b; c",
                {"s.xml:2:6: unknown entity \"&b;\"; known are &lt; &gt; &amp; &quot; &apos; and "
                 "numbers such as &#8211;"});
  expect_inside("a &#0; &#xD800; &#x41; &#65;",
                {"s.xml:2:3: \"&#0;\" is the number of no character that XML allows",
                 "s.xml:2:8: \"&#xD800;\" is the number of no character that XML allows"});
  expect_inside("<module name=\"a<b\"/>", {"s.xml:2:16: \"<\" inside a value; write &lt;"});
  expect_inside(std::string("a\0b", 3), {"s.xml:2:2: control character \\x00; take it out"});
  expect_inside("a\n \xff", {"s.xml:3:2: byte \\xff is no UTF-8; save the file as UTF-8"});
  expect_inside("<module name=\"a\">",
                {"s.xml:3:1: </schema> does not close <module> of line 2; close that one first"});
  expect_inside("</module>",
                {"s.xml:2:1: </module> does not close <schema> of line 1; close that one first"});
  expect_inside("<module name=a/>",
                {"s.xml:2:14: tag <module> of line 2 is broken here; expected name=\"value\", > or "
                 "/> (a \"<\" that is meant as text is written &lt;)"});
  expect_inside("<module name=\"a/>", {"s.xml:2:14: a value of tag <module> is not closed; end it "
                                       "with \""});
  expect_inside("<!-- a", {"s.xml:2:1: this comment is not closed; end it with -->"});
  expect_inside("<![CDATA[ a", {"s.xml:2:1: this CDATA section is not closed; end it with ]]>"});
  expect_inside("<?php a ?>",
                {"s.xml:2:1: processing instructions mean nothing in PML; take it out"});
  expect_problems("<schema name=\"s\">", {"s.xml:1:1: <schema> is not closed; write </schema>"});
  expect_problems("a<schema name=\"s\"/>",
                  {"s.xml:1:1: text outside of the root element; put it inside, or take it out"});
  expect_problems("<schema name=\"s\"/>\n<schema name=\"t\"/>",
                  {"s.xml:2:1: a second root element <schema>; a file holds one"});
  expect_problems("<schema name=\"s\"/></schema>",
                  {"s.xml:1:19: </schema> closes nothing: no element is open"});
  expect_problems("", {"s.xml:1:1: no element; a file holds a <schema> or a <prompt>"});
  expect_problems("<?xml version=\"1.0\" encoding=\"latin-1\"?>\n<schema name=\"s\"/>",
                  {"s.xml:1:21: PML is read as UTF-8; save the file as UTF-8 and say so here"});
}

TEST(PmlMarkup, EntityBombsAreRefusedBeforeAnythingIsExpanded) {
  expect_problems(
      "<!DOCTYPE s [<!ENTITY a \"aaaaaaaa\"><!ENTITY b \"&a;&a;&a;\">]>\n<schema name=\"s\">&b;"
      "</schema>",
      {"s.xml:1:1: DOCTYPE is refused: PML declares no entities; take the declaration out"});
}

TEST(PmlMarkup, LimitsEndTheReading) {
  std::string deep = "<schema name=\"s\">\n";
  for (int i = 0; i < 100; ++i) deep += fmt::format("<module name=\"m{}\">\n", i);
  expect_problems(deep, {"s.xml:65:1: elements nest deeper than 64; flatten them"});
  EXPECT_EQ(
      problems_of([] { schema_of(in_schema("<user>a</user>\n<user>b</user>"), {.elements = 2}); }),
      (Lines{"s.xml:3:1: more than 2 elements; split the file"}));
  EXPECT_EQ(problems_of([] {
              schema_of(in_schema("<module name=\"abcd\">\n<module name=\"efgh\"/></module>"),
                        {.path_bytes = 8});
            }),
            (Lines{"s.xml:3:1: the names of the modules around this one and its own have more than "
                   "8 characters; shorten them"}));
  const model::TempDir folder;
  const fs::path file = folder.write("s.xml", in_schema("text"));
  EXPECT_NE(problems_of([&] { (void)Source::read(file, {.file_bytes = 8}); })[0].find("s.xml"),
            std::string::npos);
  EXPECT_EQ(parse_schema(Source::read(file)).name, "s");
}

TEST(PmlMarkup, AHundredProblemsAreEnough) {
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "& \n";
  EXPECT_EQ(problems_of([&] { schema_of(in_schema(many)); }).size(), 100u);
}

TEST(PmlSchema, ModulesNeedGoodNames) {
  expect_problems("<schema>a</schema>",
                  {"s.xml:1:1: <schema> has no name; write <schema name=\"...\">"});
  expect_problems("<prompt schema=\"s\"/>",
                  {"s.xml:1:1: the root is <prompt>; a schema's is <schema name=\"...\">"});
  expect_inside("<union><module>a</module></union>",
                {"s.xml:2:8: <module> has no name; write <module name=\"...\">"});
  expect_inside("<module name=\"\">a</module>",
                {"s.xml:2:9: <module> has no name; write <module name=\"...\">"});
  expect_inside("<module name=\"1a\"/>",
                {"s.xml:2:9: \"1a\" is no name; a name is a letter or _, then "
                 "letters, digits, _ - and ."});
  expect_inside("<module name=\"a\"/>\n<module name=\"a\"/>",
                {"s.xml:3:9: a second module \"a\" beside that of line 2; name it otherwise"});
  // Turns and unions open no scope for names.
  expect_inside("<module name=\"a\"/>\n<user><union><module name=\"a\"/></union></user>",
                {"s.xml:3:22: a second module \"a\" beside that of line 2; name it otherwise"});
  expect_inside("<union>\n<module name=\"a\"/>\n<module name=\"a\"/></union>",
                {"s.xml:4:9: a second module \"a\" beside that of line 3; name it otherwise"});
  expect_inside("<module name=\"user\"/>",
                {"s.xml:2:9: a module cannot be named \"user\": in a prompt, "
                 "<user> is a turn; name it otherwise"});
  expect_inside("<module name=\"a\" cache=\"no\"/>",
                {"s.xml:2:18: cache=\"no\"; known are true and false"});
  // The same name may be used inside another module.
  EXPECT_NO_THROW(
      schema_of(in_schema("<module name=\"unit.py\"><module name=\"unit.py\"/></module>")));
}

TEST(PmlSchema, AModuleWithoutANameIsNoPlaceForScaffoldsAndNothingToKeepApart) {
  expect_inside(
      "<module cache=\"false\">a</module>",
      {"s.xml:2:9: a module without a name is part of what is around it, so cache= has no "
       "effect; name it, or leave cache= out"});
  expect_inside(
      "<module name=\"a\"/><module name=\"b\"/>\n<module><scaffold modules=\"a b\"/>"
      "</module>",
      {"s.xml:3:9: <scaffold> stands inside another element; put it directly into "
       "<schema>"});
  expect_inside("<module name=\"a\"/>\n<module><module name=\"a\"/></module>",
                {"s.xml:3:17: a second module \"a\" beside that of line 2; name it otherwise"});
}

TEST(PmlSchema, UnknownElementsAndAttributesGetTheNearest) {
  expect_inside(
      "<modul name=\"a\"/>",
      {"s.xml:2:1: unknown element \"modul\", did you mean \"module\"? Known: module, union, "
       "param, parameter, gap, scaffold, system, user, assistant"});
  expect_inside(
      "<module nam=\"a\"/>",
      {"s.xml:2:9: <module>: unknown attribute \"nam\", did you mean \"name\"? Known: name, "
       "src, cache"});
  expect_inside("<module name=\"a\" name=\"b\"/>",
                {"s.xml:2:18: attribute \"name\" of <module> comes twice; keep one"});
}

TEST(PmlSchema, ParametersNeedAModuleANameAndALength) {
  expect_inside(
      "<param name=\"p\" len=\"3\"/>",
      {"s.xml:2:1: parameter \"p\" is in no module, so that no prompt can give its argument; "
       "put it into a module"});
  const auto expect_in_module = [](const std::string& inside, const Lines& expected) {
    expect_inside("<module name=\"a\">\n" + inside + "</module>", expected);
  };
  expect_in_module(
      "<param name=\"p\" len=\"3\"/>\n<parameter name=\"p\" length=\"3\"/>",
      {"s.xml:4:12: a second parameter \"p\" beside that of line 3; name it otherwise"});
  expect_in_module("<param len=\"3\"/>",
                   {"s.xml:3:1: <param> has no name; write <param name=\"...\">"});
  for (const char* lengths : {"", " len=\"1\" length=\"1\""})
    expect_in_module(fmt::format("<param name=\"p\"{}/>", lengths),
                     {"s.xml:3:1: <param> needs one of len and length, in tokens"});
  for (const char* length : {"0", "-1", "3x", " 3", "1.5", "", "4194305", "99999999999999999999"})
    expect_in_module(
        fmt::format("<param name=\"p\" len=\"{}\"/>", length),
        {fmt::format("s.xml:3:17: len=\"{}\" is no number of tokens; write one from 1 to "
                     "4194304",
                     length)});
  expect_in_module(
      "<param name=\"p\" len=\"3\">text</param>",
      {"s.xml:3:1: <param> holds nothing; write it as <param .../> and put what is inside "
       "behind it"});
  expect_inside("<gap/>", {"s.xml:2:1: <gap> needs one of len and length, in tokens"});
}

TEST(PmlSchema, UnionsHoldModulesAlone) {
  expect_inside("<union></union>",
                {"s.xml:2:1: <union> has no modules; put in those to choose from"});
  expect_inside("<union><module name=\"a\"/>\n<user>x</user></union>",
                {"s.xml:3:1: <user> directly in <union>; a union holds modules, put it into one of "
                 "them"});
  expect_inside("<union><module name=\"a\"/>\n  text</union>",
                {"s.xml:3:3: text directly in <union>; put it into one of its modules"});
  expect_inside("<union scaffold=\"abd\"><module name=\"abc\"/></union>",
                {"s.xml:2:8: scaffold: unknown member \"abd\", did you mean \"abc\"? Known: abc"});
}

TEST(PmlSchema, TurnsFollowEachOther) {
  expect_inside("<user>a\n<assistant>b</assistant></user>",
                {"s.xml:3:1: <assistant> inside <user>; turns follow each other, put it behind"});
  expect_inside("<user><module name=\"a\">\n<system>b</system></module></user>",
                {"s.xml:3:1: <system> inside <user>; turns follow each other, put it behind"});
  expect_inside("<user/>", {"s.xml:2:1: <user> holds nothing; put the turn's text inside, or write "
                            "part=\"open\" or part=\"close\" for one end of the turn"});
  expect_inside("<user part=\"end\"/>",
                {"s.xml:2:7: <user> has part=\"end\"; known are open and close"});
  expect_inside("<user part=\"close\"/>",
                {"s.xml:2:1: <user part=\"close\"/> closes no turn; write <user "
                 "part=\"open\"/> before it"});
  expect_inside("<user part=\"open\">a</user>",
                {"s.xml:2:1: <user> holds nothing; write it as <user "
                 ".../> and put what is inside behind it"});
  expect_inside(
      "<module name=\"a\">\n<user part=\"open\"/></module>",
      {"s.xml:3:1: <user part=\"open\"> stands inside another element, which a prompt may "
       "leave out; put it directly into the root"});
  const Schema schema = schema_of(in_schema("<system/><user part=\"open\"/>a"));
  EXPECT_EQ(schema.open_turns, (std::array<int32_t, 3>{0, 1, 0}));
}

TEST(PmlSchema, ScaffoldsAreSetsThatAPromptCanImport) {
  const std::string modules =
      "<module name=\"a\"><module name=\"b\"/></module><union><module name=\"c\"/><module "
      "name=\"d\"><module name=\"e\"/></module></union>\n";
  const auto expect_scaffold = [&](const std::string& text, const Lines& expected) {
    expect_inside(modules + text, expected);
  };
  expect_scaffold("<scaffold/>", {"s.xml:3:1: <scaffold> has no modules; write <scaffold "
                                  "modules=\"...\">"});
  expect_scaffold("<scaffold modules=\"a\"/>",
                  {"s.xml:3:1: <scaffold> needs at least two modules, such as modules=\"a b/c\""});
  expect_scaffold(
      "<scaffold modules=\"a a/f\"/>",
      {"s.xml:3:1: <scaffold>: unknown module \"a/f\", did you mean \"a/b\"? Known: a, a/b, "
       "c, d, d/e"});
  expect_scaffold("<scaffold modules=\"a a\"/>",
                  {"s.xml:3:1: <scaffold> names \"a\" twice; name it once"});
  expect_scaffold(
      "<scaffold modules=\"c d/e\"/>",
      {"s.xml:3:1: <scaffold> names \"c\" and \"d/e\", of which the union of line 2 lets a "
       "prompt have one; make it two scaffolds"});
  expect_scaffold("<scaffold modules=\"a c\"/>\n<scaffold modules=\"c a\"/>",
                  {"s.xml:4:1: <scaffold> of the same modules as in line 3; keep one"});
  expect_scaffold(
      "<module name=\"g\">\n<scaffold modules=\"a c\"/></module>",
      {"s.xml:4:1: <scaffold> stands inside another element; put it directly into <schema>"});
  const Schema schema = schema_of(in_schema(modules + "<scaffold modules=\" . a/b\n d/e \"/>"));
  ASSERT_EQ(schema.scaffolds.size(), 1u);
  EXPECT_EQ(schema.scaffolds[0].paths, (Lines{".", "a/b", "d/e"}));
}

TEST(PmlSchema, AllProblemsOfAFileAreTold) {
  expect_inside(
      "<module name=\"\"/>\n<param name=\"p\" len=\"3\"/>\n<unknown/>\n<union/>",
      {"s.xml:2:9: <module> has no name; write <module name=\"...\">",
       "s.xml:3:1: parameter \"p\" is in no module, so that no prompt can give its argument; "
       "put it into a module",
       "s.xml:4:1: unknown element \"unknown\". Known: module, union, param, parameter, gap, "
       "scaffold, system, user, assistant",
       "s.xml:5:1: <union> has no modules; put in those to choose from"});
}

class Src : public ::testing::Test {
 protected:
  void SetUp() override {
    outside_.write("secret.txt", "secret");
    fs::create_directories(folder_.path() / "texts");
    folder_.write("texts/city.txt", "a city\n");
    fs::create_symlink(outside_.path() / "secret.txt", folder_.path() / "link.txt");
    fs::create_symlink(outside_.path(), folder_.path() / "linked");
    fs::create_symlink(folder_.path() / "texts" / "city.txt", folder_.path() / "inner.txt");
  }
  Schema read(const std::string& src, const Limits& limits = {}) {
    const std::string text =
        in_schema(fmt::format("<module name=\"a\" src=\"{}\">b</module>", src));
    return parse_schema(Source::read(folder_.write("s.xml", text)), limits);
  }
  void expect_refused(const std::string& src, const std::string& sentence,
                      const Limits& limits = {}) {
    EXPECT_EQ(
        problems_of([&] { read(src, limits); }),
        (Lines{(folder_.path() / "s.xml").string() + ":2:18: src=\"" + src + "\"" + sentence}));
  }

  model::TempDir folder_, outside_;
};

TEST_F(Src, IsTheModulesFirstText) {
  for (const char* src : {"texts/city.txt", "./texts/../texts/city.txt", "inner.txt"}) {
    const CompiledSchema schema = compile_schema(read(src), byte_encoder(), {});
    EXPECT_EQ(texts_of(schema), (Lines{"a city", " b"})) << src;
  }
}

TEST_F(Src, WhiteSpaceAtItsEndBelongsToTheArgumentThatFollows) {
  folder_.write("label.txt", "City:\n");
  const std::string text =
      in_schema("<module name=\"a\" src=\"label.txt\"><param name=\"city\" len=\"4\"/></module>");
  const CompiledSchema schema =
      compile_schema(parse_schema(Source::read(folder_.write("s.xml", text))), byte_encoder(), {});
  EXPECT_EQ(texts_of(schema), (Lines{"City:"}));
  ASSERT_EQ(schema.parameters.size(), 1u);
  EXPECT_TRUE(schema.parameters[0].begins_with_space);
}

// An XML parser reads the text of the schema's own file in the same way.
TEST_F(Src, LosesItsByteOrderMarkAndCarriageReturns) {
  folder_.write("windows.txt",
                "\xef\xbb\xbf"
                "a\r\nb\rc\n\n");
  const Schema schema = read("windows.txt");
  EXPECT_EQ(std::get<Text>(std::get<Module>(schema.children.at(1).value).children.at(0).value).text,
            "a\nb\nc\n\n");
}

// The released code merges double line feeds in the XML alone, before it reads src= files.
TEST_F(Src, AsCodedKeepsItsDoubleLineFeedsWithFalcon) {
  folder_.write("gap.txt", "a\n\nb");
  EXPECT_EQ(texts_of(compile_schema(read("gap.txt"), byte_encoder(),
                                    {.chat_template = "falcon", .rules = Rules::kAsCoded})),
            (Lines{" ", "a\n\nb", "b", " "}));
}

TEST_F(Src, DoesNotLeaveTheFolder) {
  const std::string outside = " leads out of the schema's folder; copy the file into it";
  const std::string name = outside_.path().filename().string();
  expect_refused("../" + name + "/secret.txt", outside);
  expect_refused("../nothing", outside);
  expect_refused("texts/../../" + name + "/secret.txt", outside);
  expect_refused("link.txt", outside);
  expect_refused("linked/secret.txt", outside);
  expect_refused((outside_.path() / "secret.txt").string(),
                 " is absolute; name a file relative to the schema's folder");
}

TEST_F(Src, IsAnOrdinaryTextOfBoundedSize) {
  expect_refused("none.txt", ": there is no such file in the schema's folder");
  expect_refused("texts", " is no ordinary file; name a text file");
  expect_refused(
      "texts/city.txt",
      " is larger than what the src files of one schema may still take, 3 bytes; split the "
      "schema",
      {.src_bytes = 3});
  folder_.write("zero.txt", std::string_view("a\0b", 3));
  expect_refused("zero.txt", " holds a zero byte; name a text file");
  folder_.write("bytes.txt", "a\xff");
  EXPECT_NE(problems_of([&] { read("bytes.txt"); })[0].find(":2:18: src=\"bytes.txt\""),
            std::string::npos);
  EXPECT_EQ(
      problems_of([] { schema_of(in_schema("<module name=\"a\" src=\"b\"/>")); }),
      (Lines{"s.xml:2:18: src=\"b\" names a file, and this schema is in none; put the text into "
             "the module"}));
}

TEST(PmlPrompt, IsReadWithReferencesArgumentsAndTurns) {
  const Prompt prompt = prompt_of(
      "<prompt schema=\"trip\">\n<plan days=\"3 &lt; 4\" who='me'><city/></plan><user>Where &amp; "
      "when?</user></prompt>");
  EXPECT_EQ(prompt.schema, "trip");
  ASSERT_EQ(prompt.children.size(), 3u);  // the line break, the reference, the turn
  const auto& plan = std::get<Reference>(prompt.children[1].value);
  EXPECT_EQ(plan.name, "plan");
  EXPECT_EQ(plan.place.line, 2);
  ASSERT_EQ(plan.arguments.size(), 2u);
  EXPECT_EQ(plan.arguments[0].value, "3 < 4");
  EXPECT_EQ(plan.arguments[0].place.column, 7);
  ASSERT_EQ(plan.nested.size(), 1u);
  const auto& turn = std::get<PromptChat>(prompt.children[2].value);
  EXPECT_EQ(std::get<Text>(turn.children[0].value).text, "Where & when?");
}

TEST(PmlPrompt, WhatItCannotHoldIsNamed) {
  expect_prompt("<prompt/>", {"p.xml:1:1: <prompt> has no schema; write <prompt schema=\"...\">"});
  expect_prompt("<schema name=\"s\"/>",
                {"p.xml:1:1: the root is <schema>; a prompt's is <prompt schema=\"...\">"});
  expect_prompt(
      "<prompt schema=\"s\">\n<a> text</a></prompt>",
      {"p.xml:2:5: text inside <a>; a module's text is the schema's, put yours behind </a>"});
  expect_prompt("<prompt schema=\"s\">\n<a><user>x</user></a></prompt>",
                {"p.xml:2:4: <user> inside <a>; put it behind </a>"});
  expect_prompt("<prompt schema=\"s\">\n<a p=\"1\" p=\"2\"/></prompt>",
                {"p.xml:2:10: attribute \"p\" of <a> comes twice; keep one"});
  expect_prompt("<prompt schema=\"s\">\n<user>x<system>y</system></user></prompt>",
                {"p.xml:2:8: <system> inside <user>; turns follow each other, put it behind"});
  EXPECT_TRUE(is_prompt(Source("p.xml", "<prompt/>")));
  EXPECT_FALSE(is_prompt(Source("s.xml", "<schema/>")));
}

}  // namespace
}  // namespace reprise::pml
