// Tests scales, --set, and what stands in for missing inputs.
#include "experiments/framework/overrides.h"

#include <gtest/gtest.h>

#include "tests/experiments/framework/sample_experiment.h"
#include "tests/support/json.h"

namespace reprise::experiments {
namespace {

Json after_set(const Json& json, const std::string& assignment) {
  Value experiment = value_of(json);
  apply_set(experiment, assignment, value_of(json));
  return json_of(experiment);
}

TEST(Scale, OverridesMergeObjectsAndReplaceLists) {
  const Experiment smoke = parse_sample(sample_file(), "smoke");
  EXPECT_EQ(smoke.axis_values[0], (std::vector<AxisValue>{8}));
  EXPECT_EQ(smoke.dtypes.size(), 1u);
  EXPECT_EQ(smoke.axis_values[1], (std::vector<AxisValue>{2}));
  EXPECT_EQ(parse_sample(sample_file(), "paper").axis_values[0].size(), 3u);
}

Json file_with_stand_in() {
  Json file = sample_file();
  file["scales"]["desk"] = {
      {"sweep", {{"prompt_tokens", {8, 16}}}},
      {"stand_in", {{"note", "models/b stands in."}, {"models", {"models/b"}}}}};
  return file;
}

Experiment parse_stand_in(const Json& file, const std::vector<std::string>& overrides = {}) {
  return parse_experiment(file, "sample.json", "desk", overrides, sample_vocabulary(),
                          Inputs::kStandIn);
}

TEST(StandIn, AppliesAfterTheScaleOnlyWhenAskedFor) {
  const Json file = file_with_stand_in();
  const Experiment named = parse_sample(file);
  EXPECT_TRUE(named.has_stand_in);
  EXPECT_EQ(named.models.size(), 2u);
  EXPECT_EQ(named.note, "");
  const Experiment other = parse_stand_in(file);
  EXPECT_FALSE(other.has_stand_in);
  ASSERT_EQ(other.models.size(), 1u);
  EXPECT_EQ(other.models[0].model, "models/b");
  EXPECT_EQ(other.note, "models/b stands in.");
  EXPECT_EQ(other.axis_values[0], (std::vector<AxisValue>{8, 16}));  // the scale's values
  EXPECT_FALSE(parse_sample(file, "smoke").has_stand_in);
}

TEST(StandIn, IsOverriddenBySet) {
  const Json file = file_with_stand_in();
  EXPECT_TRUE(parse_sample(file, "desk", {"repetitions=1"}).has_stand_in);
  EXPECT_EQ(parse_stand_in(file, {"models=models/c"}).models[0].model, "models/c");
}

TEST(StandIn, IsCheckedWithTheFileAndSaysWhatStandsIn) {
  Json file = file_with_stand_in();
  file["scales"]["desk"]["stand_in"]["dtypes"] = {"f8"};
  EXPECT_NE(parse_message(file).find("with its stand_in"), std::string::npos)
      << parse_message(file);
  file = file_with_stand_in();
  file["scales"]["desk"]["stand_in"].erase("note");
  EXPECT_NE(parse_message(file).find("\"scales.desk.stand_in\" has no \"note\""), std::string::npos)
      << parse_message(file);
}

TEST(Scale, UnknownOneOffersTheNearest) {
  try {
    (void)parse_sample(sample_file(), "papr");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean \"paper\""), std::string::npos);
  }
}

TEST(Set, ReplacesNestedValues) {
  EXPECT_EQ(after_set({{"a", {{"b", 1}}}}, "a.b=2")["a"]["b"], 2);
  EXPECT_EQ(after_set({{"a", {{"b", 1}}}}, "a.c=text")["a"]["c"], "text");
  EXPECT_EQ(after_set(Json::object(), "a.b=[1,2]")["a"]["b"], Json::array({1, 2}));
  EXPECT_EQ(after_set({{"a", {1, 2}}}, "a.1=5")["a"], Json::array({1, 5}));
  EXPECT_EQ(after_set({{"a", {1, 2}}}, "a=5")["a"], Json::array({5}));
  EXPECT_EQ(after_set(Json::object(), "a=x=y")["a"], "x=y");
}

TEST(Set, CommasSeparateTheEntriesOfAList) {
  EXPECT_EQ(after_set({{"dtypes", {"f32"}}}, "dtypes=f32,bf16")["dtypes"],
            Json::array({"f32", "bf16"}));
  EXPECT_EQ(after_set(Json::object(), "dtypes=f32,bf16")["dtypes"], Json::array({"f32", "bf16"}));
  EXPECT_EQ(after_set(Json::object(), "methods=paged")["methods"], Json::array({"paged"}));
  EXPECT_EQ(after_set(Json::object(), "series=torch_sdpa")["series"], Json::array({"torch_sdpa"}));
  EXPECT_EQ(after_set(Json::object(), "sweep.batch=1,2,4")["sweep"]["batch"],
            Json::array({1, 2, 4}));
  EXPECT_EQ(after_set(Json::object(), R"(methods={"name":"paged"},{"name":"auto"})")["methods"],
            Json::array({{{"name", "paged"}}, {{"name", "auto"}}}));
  EXPECT_EQ(after_set(Json::object(), "title=one, two")["title"], "one, two");
  const Experiment experiment =
      parse_sample(sample_file(), "desk", {"dtypes=bf16,f32", "methods=paged,contiguous"});
  EXPECT_EQ(experiment.dtypes, (std::vector<DType>{DType::kBF16, DType::kF32}));
  ASSERT_EQ(experiment.methods.size(), 2u);
  EXPECT_EQ(experiment.methods[1].name, "contiguous");
  EXPECT_NE(parse_message(sample_file(), {"dtypes=f32,,bf16"}).find("entry 2"), std::string::npos);
  EXPECT_NE(parse_message(sample_file(), {"dtypes="}).find("empty list"), std::string::npos);
  EXPECT_NE(parse_message(sample_file(), {"title=\xff"}).find("UTF-8"), std::string::npos);
}

TEST(Set, NullRemovesAKey) {
  const Json file = {{"cases", {1, 2}}, {"a", {{"b", 1}, {"c", 2}}}};
  EXPECT_EQ(after_set(file, "cases=null"), (Json{{"a", {{"b", 1}, {"c", 2}}}}));
  EXPECT_EQ(after_set(file, "a.b=null"), (Json{{"cases", {1, 2}}, {"a", {{"c", 2}}}}));
}

TEST(Set, NullForAKeyThatTheFileHasNowhereIsAnError) {
  const auto message = [](const std::string& assignment) {
    return parse_message(sample_file(), {assignment});
  };
  EXPECT_NE(
      message("repetition=null").find("\"repetition\" to remove, did you mean \"repetitions\"?"),
      std::string::npos)
      << message("repetition=null");
  EXPECT_NE(message("sweep.promt_tokens=null").find("did you mean \"prompt_tokens\"?"),
            std::string::npos)
      << message("sweep.promt_tokens=null");
  Json file = sample_file();  // keys of other scales and of the stand-in count too
  file["scales"]["paper"]["warmup"] = 3;
  EXPECT_EQ(parse_message(file, {"warmup=null"}), "");
  file = file_with_stand_in();
  file["scales"]["desk"]["stand_in"]["seeds"] = {{"weights", 2}};
  EXPECT_EQ(parse_sample(file, "desk", {"seeds.weights=null"}).seeds.weights, 1u);
}

TEST(Set, AppliesAfterTheScale) {
  const auto experiment =
      parse_sample(sample_file(), "smoke", {"sweep.prompt_tokens=[4,5]", "dtypes=bf16"});
  EXPECT_EQ(experiment.axis_values[0], (std::vector<AxisValue>{4, 5}));
  EXPECT_EQ(experiment.dtypes, std::vector<DType>{DType::kBF16});
}

TEST(Set, UnknownKeyOffersTheNearest) {
  EXPECT_NE(parse_message(sample_file(), {"repetition=3"}).find("did you mean \"repetitions\""),
            std::string::npos);
}

TEST(Set, MalformedAssignmentsAreErrors) {
  for (const char* text :
       {"", "a", "=3", "a..b=3", ".a=3", "a.=3", "name.x=3", "models.9=x", "models.x=1"})
    EXPECT_NE(parse_message(sample_file(), {text}), "") << text;
}

}  // namespace
}  // namespace reprise::experiments
