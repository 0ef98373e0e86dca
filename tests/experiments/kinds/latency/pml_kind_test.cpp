// Tests prompts derived from schemas: what is imported, what is computed, and whether the texts
// agree.
#include "experiments/kinds/latency/pml_kind.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>

#include "core/base/problems.h"
#include "experiments/kinds/latency/use_case.h"
#include "results/data_dir.h"
#include "tests/experiments/kinds/shared/kind_on_tiny_model.h"
#include "tests/experiments/kinds/shared/measured_value.h"
#include "tests/support/environment.h"
#include "tests/support/json.h"
#include "tests/support/measured.h"

namespace reprise::experiments {
namespace {

const std::string kOne =
    "<module name=\"one\">Once upon a time there was a little girl who lived in a small house."
    "</module>";
const std::string kTwo = "<module name=\"two\">Her dog was old and her cat was black.</module>";

Json with_options(const char* method, const Json& options) {
  return {{"name", method}, {"options", options}};
}

class PmlKindTest : public KindOnTinyModel {
 protected:
  // Writes NAME.schema.xml with these modules and, if `prompt` is not empty, NAME.prompt.xml.
  std::string write(const std::string& name, const std::string& modules,
                    const std::string& prompt) const {
    const std::string schema = (dir_ / (name + ".schema.xml")).string();
    std::ofstream(schema) << "<schema name=\"t\">" << modules << "</schema>";
    if (!prompt.empty())
      std::ofstream(dir_ / (name + ".prompt.xml"))
          << "<prompt schema=\"t\">" << prompt << "</prompt>";
    return schema;
  }
  Group group(const Json& changes) const {
    Json file = {{"kind", "pml"},
                 {"models", {"models/quickstart"}},
                 {"series", {"baseline"}},
                 {"compared_with", "series"},
                 {"methods", {"prompt_cache"}},
                 {"workload", {{"name", "use_cases"}}},
                 {"settings", {{"new_tokens", 8}}},
                 {"repetitions", 2},
                 {"warmup", 1}};
    file.merge_patch(changes);
    return group_of(file);
  }
  Group group_of_file(const std::string& schema, const Json& series, const Json& methods) const {
    return group({{"workload", {{"name", "pml"}, {"file", schema}}},
                  {"series", series},
                  {"methods", methods}});
  }
  std::vector<Measured> measure(const Group& one) {
    PmlKind kind(context_);
    kind.check(one);
    return measured_json(kind.measure(one, Machine(), stop_));
  }
  std::string refusal(const Json& changes) const {
    Problems problems;
    problems.collect([&] { PmlKind(context_).check(group(changes)); });
    return fmt::format("{}", fmt::join(problems.list(), "\n"));
  }
};

TEST_F(PmlKindTest, AModuleInFrontIsAPrefixAndGivesTheSameText) {
  const auto measured =
      measure(group_of_file(write("front", kOne, "<one/> One day"), {"baseline"},
                            {"prompt_cache", with_options("prompt_cache", {{"copies", true}}),
                             with_options("prompt_cache", {{"mode", "joint"}, {"tier", "disk"}})}));
  ASSERT_EQ(measured.size(), 4u);
  for (const Measured& method : measured) {
    EXPECT_EQ(value_of(method, "same_tokens_ratio"), 1.0);
    EXPECT_FALSE(method.metrics.contains("first_divergence"));
    EXPECT_EQ(method.answers["text"], measured[0].answers["text"]);
    EXPECT_EQ(method.answers["generated_tokens"], 2 * 8);
  }
  EXPECT_FALSE(measured[0].answers["text"].get<std::string>().empty());
  EXPECT_EQ(value_of(measured[1], "copied_mb"), 0);
  EXPECT_GT(value_of(measured[2], "copied_mb"), 0);
}

TEST_F(PmlKindTest, WhatIsImportedNeedNotBeComputedAndThePartsAreTheWhole) {
  const auto measured = measure(
      group({{"settings", {{"use_case", "travel"}}},
             {"series", {"baseline", with_options("baseline", {{"positions", "gapped"}})}},
             {"methods", {"prompt_cache", with_options("prompt_cache", {{"mode", "scaffold"}})}}}));
  const double imported = value_of(measured[2], "imported_tokens");
  EXPECT_GT(imported, 0);
  for (size_t m = 0; m < 2; ++m) {
    EXPECT_EQ(value_of(measured[m], "imported_tokens"), 0);
    EXPECT_EQ(value_of(measured[m], "computed_tokens"),
              imported + value_of(measured[2], "computed_tokens"));
    EXPECT_FALSE(measured[m].metrics.contains("lookup_ms"));
  }
  // The prompt takes more positions than it computes tokens: two members of the union are not
  // imported but keep their positions, and a parameter has more positions than its argument tokens.
  EXPECT_GT(value_of(measured[2], "prompt_positions"), value_of(measured[0], "computed_tokens"));
  for (size_t m = 2; m < 4; ++m) {
    EXPECT_EQ(measured[m].resolved["exactness"], "approximate");
    EXPECT_EQ(measured[m].metrics["ttft_speedup"]["count"], 2);
    EXPECT_GT(value_of(measured[m], "prefix_ms"), 0);
    for (size_t r = 0; r < 2; ++r) {
      double sum = 0;
      for (const char* part : {"lookup_ms", "copy_ms", "repair_ms", "compute_ms"})
        sum += measured[m].samples[part][r].get<double>();
      EXPECT_NEAR(sum, measured[m].samples["ttft_ms"][r].get<double>(), 1e-9);
    }
  }
}

// The released code's rules turn white space at the ends of a schema's texts into one space. So the
// prompt has other tokens than by PML's rules.
TEST_F(PmlKindTest, TokensAreCountedByTheRulesOfTheMethod) {
  const std::string schema = write(
      "spaced", "<module name=\"one\">\n\n   Once upon a time   \n\n</module>", "<one/>One day");
  const auto measured = measure(
      group_of_file(schema, {"baseline"},
                    {"prompt_cache", with_options("prompt_cache", {{"preset", "as_coded"}})}));
  ASSERT_EQ(measured.size(), 3u);
  const auto whole = [](const Measured& one) {
    return value_of(one, "imported_tokens") + value_of(one, "computed_tokens");
  };
  EXPECT_EQ(whole(measured[1]), value_of(measured[0], "computed_tokens"));
  EXPECT_NE(whole(measured[2]), whole(measured[1]));
  EXPECT_EQ(value_of(measured[2], "prompt_positions"), whole(measured[2]));
}

TEST_F(PmlKindTest, DivergenceIsCountedFromTheFirstMethodsText) {
  const auto measured = measure(group_of_file(
      write("gap", kOne + kTwo, "<one/> She"),
      {"baseline", with_options("baseline", {{"positions", "gapped"}})}, {"prompt_cache"}));
  // The text comes after the positions of the module that is not imported. The imported module
  // comes first and sees only itself in both cases, so the gapped baseline and the import compute
  // the same.
  EXPECT_EQ(measured[1].answers["text"], measured[2].answers["text"]);
  EXPECT_EQ(measured[1].answers["tokens_hash"], measured[2].answers["tokens_hash"]);
  for (const Measured& method : measured) {
    const bool is_same = method.answers["tokens_hash"] == measured[0].answers["tokens_hash"];
    EXPECT_EQ(value_of(method, "same_tokens_ratio"), is_same ? 1.0 : 0.0);
    EXPECT_EQ(method.metrics.contains("first_divergence"), !is_same);
    if (!is_same) {
      EXPECT_LT(value_of(method, "first_divergence"), 8);
    }
  }
}

TEST_F(PmlKindTest, AShapeTakesTheTokenizerThatIsNamed) {
  const Json shape = Json::array({{{"model", "tinyllama-1.1b"}, {"weights", "random"}}});
  const Group one =
      group({{"models", shape}, {"settings", {{"use_case", "code"}, {"tokenizer", "quickstart"}}}});
  PmlKind(context_).check(one);
  const Group trained = group({{"settings", {{"use_case", "code"}}}});
  EXPECT_EQ(load_use_case(one).prompt->cached_tokens, load_use_case(trained).prompt->cached_tokens);
  EXPECT_GT(PmlKind(context_).memory_need(one).bytes, 4e9) << "1.1 B weights in f32";
}

TEST_F(PmlKindTest, WhatCannotBeIsRefusedBeforeAnythingIsMeasured) {
  const auto refused = [&](const Json& changes, std::initializer_list<const char*> parts) {
    const std::string text = refusal(changes);
    for (const char* part : parts)
      EXPECT_NE(text.find(part), std::string::npos) << part << " not in: " << text;
  };
  const Json code = {{"use_case", "code"}};
  EXPECT_EQ(refusal({{"settings", code}}), "");
  refused(Json::object(), {"choose one with use_case"});
  const auto of_file = [](const std::string& file) -> Json {
    return {{"name", "pml"}, {"file", file}};
  };
  refused({{"workload", of_file((dir_ / "config.json").string())}}, {"config.json", ".schema.xml"});
  refused({{"workload", of_file("absent.schema.xml")}}, {"there is no absent.schema.xml"});
  refused({{"workload", of_file(write("lone", kOne, ""))}}, {"lone.prompt.xml", "prompt derived"});
  refused({{"workload", of_file(write("wrong", kOne, "<three/> x"))}}, {"three"});
  refused({{"workload", of_file(write("both", kOne, "<one/> x"))}, {"settings", code}},
          {"use_case is code", "leave one of them out"});
  refused({{"settings", {{"use_case", "code"}, {"new_tokens", 4000}}}}, {"2048", "4000"});
  refused({{"settings", code}, {"methods", {"contiguous"}}},
          {"\"contiguous\" does not run in kind \"pml\""});
  refused({{"settings", code}, {"models", {{{"model", "llama-2-7b"}, {"weights", "random"}}}}},
          {"llama-2-7b", "settings.tokenizer=quickstart"});
  refused({{"settings", {{"use_case", "code"}, {"tokenizer", "quickstart"}}},
           {"models", {{{"model", dir_.string()}, {"weights", "random"}}}}},
          {"ids up to 2047", "vocabulary of 256"});
  EXPECT_THROW(group({{"settings", code},
                      {"series", {with_options("baseline", {{"positions", "compcat"}})}}}),
               Error);
}

TEST_F(PmlKindTest, AMissingModelHidesNoMissingFile) {
  const testing::EnvironmentVariable data("REPRISE_DATA", ""),
      cache("XDG_CACHE_HOME", "/nowhere");  // hides what this user has fetched
  const std::string found =
      refusal({{"models", {"checkpoints/llama-2-7b"}},
               {"workload", {{"name", "pml"}, {"file", "absent.schema.xml"}}}});
  EXPECT_NE(found.find("reprise data get llama-2-7b"), std::string::npos) << found;
  EXPECT_NE(found.find("there is no absent.schema.xml"), std::string::npos) << found;
  EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 1) << found;
}

TEST_F(PmlKindTest, ShippedUseCasesCanBeRun) {
  const auto path = results::data_dir() / "experiments" / "prompt_cache" / "use_cases.json";
  for (const char* scale : {"smoke", "desk"})
    for (const Group& one : expand(load_experiment(path, scale, {}, known_vocabulary()),
                                   {.context = context_, .device = Device::kCpu}))
      EXPECT_NO_THROW(PmlKind(context_).check(one)) << scale << " " << one.label;
}

// A folder of schemas replaces the shipped ones. Some of their prompts are shipped.
TEST_F(PmlKindTest, TheAuthorsSchemasComeFromAFolderAndTheirPromptsWithTheProgram) {
  const Json trip = {{"use_case", "trip"}};
  EXPECT_NE(refusal({{"settings", trip}}).find("reprise data get prompt-cache-schemas"),
            std::string::npos);
  const Json folder = {{"name", "use_cases"}, {"file", dir_.string()}};
  EXPECT_NE(refusal({{"settings", trip}, {"workload", folder}}).find("trip.schema.xml"),
            std::string::npos);
  std::ofstream(dir_ / "trip.schema.xml")
      << R"(<schema name="travel"><module name="travel-plan">Of <param name="duration" len="9"/>)"
      << R"(a <b, <module name="overseas"><module name="tokyo">Tokyo.</module></module></module>)"
      << "</schema>";
  EXPECT_NE(refusal({{"settings", trip}, {"workload", folder}}).find("trip.schema.xml:1:"),
            std::string::npos)
      << "the < of a <b begins a tag";
  std::ofstream(dir_ / "trip.schema.xml")
      << R"(<schema name="travel"><module name="travel-plan">Of <param name="duration" len="9"/>)"
      << R"(a < b, <module name="overseas"><module name="tokyo">Tokyo.</module></module></module>)"
      << "</schema>";
  EXPECT_NE(refusal({{"settings", trip}, {"workload", folder}}), "") << "strict";
  const Json lenient = {{"use_case", "trip"}, {"reading", "lenient"}};
  const auto measured = measure(group({{"settings", lenient}, {"workload", folder}}));
  EXPECT_EQ(measured[1].resolved["imported_modules"], 3);
  EXPECT_EQ(measured[1].resolved["characters_read_as_text"], 1);
  write("trip", "<module name=\"one\">Tom ran.</module>", "<one/> She");
  EXPECT_EQ(
      measure(group({{"settings", trip}, {"workload", folder}}))[1].resolved["imported_modules"], 1)
      << "a prompt beside the schema comes first";
}

TEST_F(PmlKindTest, LenientReadingIsOfThePromptToo) {
  const std::string schema = write("stray", kOne, "<one/> if a <= b");
  const Json file = {{"workload", {{"name", "pml"}, {"file", schema}}}};
  EXPECT_NE(refusal(file).find("begins no tag"), std::string::npos) << refusal(file);
  Json lenient = file;
  lenient["settings"] = {{"reading", "lenient"}};
  EXPECT_EQ(measure(group(lenient)).size(), 2u);
}

TEST_F(PmlKindTest, ThePromptIsCheckedByTheRulesOfEachMethod) {
  const std::string schema =
      write("between", kOne + "<gap len=\"8\"/>" + kTwo, "<one/> and <two/> She");
  Json file = {{"workload", {{"name", "pml"}, {"file", schema}}}};
  EXPECT_EQ(refusal(file), "");
  file["methods"] = Json::array({with_options("prompt_cache", {{"preset", "as_coded"}})});
  EXPECT_NE(refusal(file).find("the released code refuses text"), std::string::npos)
      << refusal(file);
}

TEST_F(PmlKindTest, RaisedStopGivesTheGroupUp) {
  stop_ = true;
  EXPECT_THROW((void)PmlKind(context_).measure(group({{"settings", {{"use_case", "code"}}}}),
                                               Machine(), stop_),
               Interrupted);
}

}  // namespace
}  // namespace reprise::experiments
