// Tests which tokens are encoded together, and where a prompt finds their states.
#include "methods/prompt_cache/encoding.h"

#include <gtest/gtest.h>

#include "methods/prompt_cache/options.h"
#include "tests/methods/prompt_cache/pml/pml_testing.h"

namespace reprise::prompt_cache {
namespace {

using Lines = std::vector<std::string>;

TEST(PromptCacheOptions, PresetsAreThePapersAndTheReleasedCodes) {
  const auto preset = [](const char* name) {
    return reuse::read_options<PromptCacheOptions>({{"preset", name}}, "options");
  };
  const PromptCacheOptions in_place = preset("in_place"), published = preset("as_published"),
                           coded = preset("as_coded");
  EXPECT_EQ(in_place.mode, "isolated");
  EXPECT_FALSE(in_place.copies);
  EXPECT_EQ(published.mode, "scaffold");
  EXPECT_TRUE(published.copies);
  EXPECT_EQ(published.rules, "pml");
  EXPECT_EQ(coded.mode, "joint");
  EXPECT_TRUE(coded.copies);
  EXPECT_EQ(coded.rules, "as_coded");
}

constexpr const char* kNested =
    R"(<schema name="s">1 2
<module name="a">3 4<module name="b">5</module>6</module>
<union><module name="c">7 8</module><module name="d">9</module></union>
<module name="e"><parameter name="x" length="2"/>10</module></schema>)";

// The units as lines such as "module /a: 3 4 6".
Lines units_of(const pml::CompiledSchema& schema, const Encoding& encoding) {
  Lines lines;
  for (const StateUnit& unit : encoding.units) {
    std::string line = unit.name + ":";
    for (const int32_t piece : unit.pieces)
      for (const int32_t token : schema.pieces[static_cast<size_t>(piece)].tokens)
        line += fmt::format(" {}", token);
    lines.push_back(line);
  }
  return lines;
}

// The passes as lines such as "1 2 | module .": the tokens computed, and the units whose states are
// kept.
Lines passes_of(const pml::CompiledSchema& schema, const Encoding& encoding) {
  Lines lines;
  for (const EncodingPass& pass : encoding.passes) {
    std::string line;
    for (const int32_t piece : pass.pieces)
      for (const int32_t token : schema.pieces[static_cast<size_t>(piece)].tokens)
        line += token == pml::kUnknownWord ? "? " : fmt::format("{} ", token);
    for (const int32_t unit : pass.units)
      line += "| " + encoding.units[static_cast<size_t>(unit)].name + " ";
    line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

TEST(Encoding, IsolatedComputesEachModuleByItself) {
  const auto schema = pml::compiled(kNested, pml::word_encoder());
  const Encoding encoding = encoding_of(schema, Mode::kIsolated);
  EXPECT_EQ(passes_of(schema, encoding),
            (Lines{"1 2 | module #1", "3 4 6 | module a", "5 | module a/b", "7 8 | module c",
                   "9 | module d", "? ? 10 | module e"}));
  EXPECT_EQ(units_of(schema, encoding).back(), "module e: 10") << "placeholders are not kept";
  EXPECT_EQ(units_of(schema, encoding_of(schema, Mode::kRepair)), units_of(schema, encoding));
}

// [Prompt Cache §3.2.1]: texts outside of modules are anonymous modules.
TEST(Encoding, IsolatedComputesEachTextOfTheSchemaByItself) {
  const auto encoder = pml::word_encoder();
  const auto schema = pml::compiled(
      R"(<schema name="s">1<module name="a">2</module>3 <module>4</module>5
<scaffold modules=". a"/></schema>)",
      encoder);
  EXPECT_EQ(
      passes_of(schema, encoding_of(schema, Mode::kIsolated)),
      (Lines{"1 | module #1", "3 | module #2", "4 | module #3", "5 | module #4", "2 | module a"}));
  EXPECT_EQ(passes_of(schema, encoding_of(schema, Mode::kJoint)),
            (Lines{"1 2 3 4 5 | module . | module a"}));
  const auto prompt =
      pml::compile_prompt(pml::prompt_of("<prompt schema=\"s\">9</prompt>"), schema, encoder);
  const auto units = [&](Mode mode, const pml::CompiledPrompt& of) {
    Lines names;
    const Encoding encoding = encoding_of(schema, mode);
    for (const ImportedRun& run : imported_runs(schema, encoding, of))
      names.push_back(encoding.units[static_cast<size_t>(run.unit)].name);
    return names;
  };
  const Lines apart = {"module #1", "module #2", "module #3", "module #4"};
  EXPECT_EQ(units(Mode::kIsolated, prompt), apart);
  EXPECT_EQ(units(Mode::kScaffold, prompt), apart);
  const auto all =
      pml::compile_prompt(pml::prompt_of("<prompt schema=\"s\"><a/>9</prompt>"), schema, encoder);
  EXPECT_EQ(units(Mode::kScaffold, all), Lines{"scaffold 0"});
}

TEST(Encoding, JointComputesTheSchemaAndOncePerMemberThatIsNoDefault) {
  const auto schema = pml::compiled(kNested, pml::word_encoder());
  const Encoding encoding = encoding_of(schema, Mode::kJoint);
  EXPECT_EQ(passes_of(schema, encoding),
            (Lines{"1 2 3 4 5 6 ? ? 10 | module . | module a | module a/b | module e",
                   "1 2 3 4 5 6 7 8 ? ? 10 | module c", "1 2 3 4 5 6 9 ? ? 10 | module d"}));
  EXPECT_EQ(std::ssize(encoding.passes), pml::joint_passes(schema));
}

TEST(Encoding, AUnionsDefaultStandsInTheFirstPass) {
  const auto schema = pml::compiled(
      R"(<schema name="s"><union scaffold="d"><module name="c">7 8</module><module name="d">9
<union><module name="f">11</module><module name="g">12</module></union></module></union>13</schema>)",
      pml::word_encoder());
  const Encoding encoding = encoding_of(schema, Mode::kJoint);
  EXPECT_EQ(passes_of(schema, encoding), (Lines{"9 13 | module . | module d", "7 8 13 | module c",
                                                "9 11 13 | module d/f", "9 12 13 | module d/g"}));
  EXPECT_EQ(std::ssize(encoding.passes), pml::joint_passes(schema));
}

// The member d of the outer union is not that union's default. So no earlier pass of the released
// code has f, the default of the union inside d, and f gets a pass of its own.
TEST(Encoding, TheDefaultOfAnInnerUnionHasAPassOfItsOwn) {
  const auto schema = pml::compiled(
      R"(<schema name="s"><union scaffold="c"><module name="c">7</module><module name="d">9
<union scaffold="f"><module name="f">11</module><module name="g">12</module></union></module></union></schema>)",
      pml::word_encoder());
  const Encoding encoding = encoding_of(schema, Mode::kJoint);
  EXPECT_EQ(passes_of(schema, encoding),
            (Lines{"7 | module c", "9 11 | module d", "9 11 | module d/f", "9 12 | module d/g"}));
  EXPECT_EQ(pml::joint_passes(schema), 4);
}

TEST(Encoding, AsCodedAllModulesAreKept) {
  const auto schema = pml::compiled(
      R"(<schema name="s"><module name="a" cache="false">1<module name="b">2</module></module></schema>)",
      pml::word_encoder(), {.rules = pml::Rules::kAsCoded});
  const Encoding encoding = encoding_of(schema, Mode::kJoint);
  EXPECT_EQ(passes_of(schema, encoding), (Lines{"1 2 | module a | module a/b"}));
  const pml::CompiledPrompt prompt = pml::compile_prompt(
      pml::prompt_of("<prompt schema=\"s\"><a/>3</prompt>"), schema, pml::word_encoder());
  ASSERT_EQ(imported_runs(schema, encoding, prompt).size(), 1u);
}

TEST(Encoding, WhatIsNotCachedIsSeenAndNotKept) {
  const auto schema = pml::compiled(
      R"(<schema name="s"><module name="a" cache="false">1<module name="b">2</module></module></schema>)",
      pml::word_encoder());
  EXPECT_EQ(passes_of(schema, encoding_of(schema, Mode::kJoint)), (Lines{"1 2 | module a/b"}));
  EXPECT_EQ(passes_of(schema, encoding_of(schema, Mode::kIsolated)), (Lines{"2 | module a/b"}));
}

constexpr const char* kScaffolds = R"(<schema name="s">
<module name="a">1 2</module><module name="b">3</module><module name="c">4 5</module>
<scaffold modules="a c"/></schema>)";

TEST(Encoding, ScaffoldsAreComputedBesideAndOverrideWhereAllAreImported) {
  const auto encoder = pml::word_encoder();
  const auto schema = pml::compiled(kScaffolds, encoder);
  const Encoding encoding = encoding_of(schema, Mode::kScaffold);
  EXPECT_EQ(passes_of(schema, encoding),
            (Lines{"1 2 | module a", "3 | module b", "4 5 | module c", "1 2 4 5 | scaffold 0"}));
  const auto runs = [&](const std::string& imports, Mode mode) {
    const Encoding of = encoding_of(schema, mode);
    const auto prompt = pml::compile_prompt(
        pml::prompt_of("<prompt schema=\"s\">" + imports + " 9</prompt>"), schema, encoder);
    Lines lines;
    for (const ImportedRun& run : imported_runs(schema, of, prompt))
      lines.push_back(fmt::format("{} [{}, {}) at {}", of.units[static_cast<size_t>(run.unit)].name,
                                  run.first, run.first + run.tokens, run.first_position));
    return lines;
  };
  EXPECT_EQ(runs("<a/><b/><c/>", Mode::kScaffold),
            (Lines{"scaffold 0 [0, 2) at 0", "module b [0, 1) at 2", "scaffold 0 [2, 4) at 3"}));
  EXPECT_EQ(runs("<a/><b/>", Mode::kScaffold),
            (Lines{"module a [0, 2) at 0", "module b [0, 1) at 2"}));
  EXPECT_EQ(runs("<a/><c/>", Mode::kIsolated),
            (Lines{"module a [0, 2) at 0", "module c [0, 2) at 3"}));
}

TEST(Encoding, TextsSideBySideAreOneRun) {
  const auto encoder = pml::word_encoder();
  const auto schema = pml::compiled(kNested, encoder);
  const Encoding encoding = encoding_of(schema, Mode::kIsolated);
  const auto count = [&](const std::string& imports) {
    const auto prompt = pml::compile_prompt(
        pml::prompt_of("<prompt schema=\"s\">" + imports + " 9</prompt>"), schema, encoder);
    return imported_runs(schema, encoding, prompt).size();
  };
  EXPECT_EQ(count("<a/>"), 3u) << "the schema's own text, and a's two about the gap of b";
  EXPECT_EQ(count("<e/>"), 2u);
}

TEST(Encoding, ModesHaveNames) {
  for (const std::string& name : mode_names()) EXPECT_EQ(name_of(mode_named(name)), name);
  EXPECT_THROW(mode_named("Isolated"), Error);
}

}  // namespace
}  // namespace reprise::prompt_cache
