// Tests the strict reader of experiment files: what it accepts, and its messages for what it
// refuses.
#include "experiments/framework/experiment_file.h"

#include <gtest/gtest.h>

#include "methods/registry.h"
#include "tests/experiments/framework/sample_experiment.h"
#include "tests/support/json.h"

namespace reprise::experiments {
namespace {

// Expects that the sample with one key replaced is refused with a message that contains `part`.
void expect_refused(const std::string& pointer, const Json& value, const std::string& part) {
  Json file = sample_file();
  file[Json::json_pointer(pointer)] = value;
  const std::string message = parse_message(file);
  EXPECT_NE(message.find(part), std::string::npos)
      << pointer << " = " << value.dump() << " gave: " << message;
}

TEST(ExperimentFile, ReadsEveryKey) {
  const Experiment experiment = parse_sample(sample_file());
  EXPECT_EQ(experiment.name, "sample");
  EXPECT_EQ(experiment.kind.name, "ttft");
  ASSERT_EQ(experiment.models.size(), 2u);
  EXPECT_FALSE(experiment.models[0].random_weights);
  EXPECT_TRUE(experiment.models[1].random_weights);
  EXPECT_EQ(experiment.dtypes, (std::vector<DType>{DType::kF32, DType::kBF16}));
  EXPECT_EQ(experiment.methods[1].name, "contiguous");
  EXPECT_EQ(experiment.workload.name, "random_tokens");
  EXPECT_EQ(experiment.axis_values[0], (std::vector<AxisValue>{8, 16, 32}));
  EXPECT_EQ(experiment.axis_values[1], (std::vector<AxisValue>{2}));
  EXPECT_EQ(experiment.repetitions, 3);
  EXPECT_EQ(experiment.seeds.prompts, 5u);
  EXPECT_EQ(experiment.seeds.weights, 1u);
  EXPECT_EQ(experiment.metrics, experiment.kind.metric_names());
  ASSERT_EQ(experiment.plots.size(), 1u);
  EXPECT_EQ(experiment.plots[0].name, "ttft_ms");
  EXPECT_TRUE(experiment.plots[0].log_x);
}

TEST(ExperimentFile, AModelMayBeListedInSeveralWeightFormats) {
  Json file = sample_file();
  const auto model = [](const char* format) {
    return Json{{"model", "llama-2-7b"}, {"weights", "random"}, {"weight_format", format}};
  };
  file["models"] = {"models/a", model("int4"), model("nf4"), model("plain")};
  const Experiment experiment = parse_sample(file);
  ASSERT_EQ(experiment.models.size(), 4u);
  EXPECT_EQ(experiment.models[0].weight_format, std::nullopt);
  EXPECT_EQ(experiment.models[1].weight_format, WeightFormat::kInt4);
  EXPECT_EQ(experiment.models[2].weight_format, WeightFormat::kNf4);
  EXPECT_EQ(experiment.models[3].weight_format, std::nullopt);
  file["plot"]["series"] = "weight_format";
  EXPECT_EQ(parse_message(file), "");
  file["models"] = {model("int4"), model("int4")};
  EXPECT_NE(parse_message(file).find("twice"), std::string::npos) << parse_message(file);
  expect_refused("/models/1/weight_format", "nf-4", "did you mean \"nf4\"");
  expect_refused("/models/1/weight_format", "none", "plain");
  expect_refused("/models/1/weight_formats", "int4", "did you mean \"weight_format\"");
}

TEST(ExperimentFile, UnknownKeysOfferTheNearest) {
  expect_refused("/mdoels", 1, "did you mean \"models\"");
  expect_refused("/seeds/prompt", 1, "did you mean \"prompts\"");
  expect_refused("/sweep/promt_tokens", {1}, "did you mean \"prompt_tokens\"");
  expect_refused("/settings/new_token", 1, "did you mean \"new_tokens\"");
  expect_refused("/models/1/weight", "random", "did you mean \"weights\"");
  expect_refused("/plot/logx", true, "did you mean \"log_x\"");
  expect_refused("/scales/smok", Json::object(), "did you mean \"smoke\"");
}

TEST(ExperimentFile, MisspeltKeyIsNamedBeforeTheMissingOne) {
  Json file = sample_file();
  file.erase("kind");
  file["knd"] = "ttft";
  EXPECT_NE(parse_message(file).find("did you mean \"kind\""), std::string::npos);
}

TEST(ExperimentFile, UnknownNamesOfferTheNearest) {
  expect_refused("/kind", "tftt", "did you mean \"ttft\"");
  expect_refused("/methods/0", "recompte", "did you mean \"recompute\"");
  expect_refused("/workload", "random_token", "did you mean \"random_tokens\"");
  expect_refused("/metrics", {"ttft"}, "did you mean \"ttft_ms\"");
  expect_refused("/plot/y", "ttft", "did you mean \"ttft_ms\"");
  expect_refused("/plot/x", "prompt_token", "did you mean \"prompt_tokens\"");
  expect_refused("/plot/series", "methods", "did you mean \"method\"");
  expect_refused("/models/1/weights", "randm", "did you mean \"random\"");
}

TEST(ExperimentFile, TablesAndFiguresTakePercentilesThatExist) {
  Json file = sample_file();
  file["metrics"] = {"ttft_ms", "ttft_ms.p99", "tpot_ms.p99.9"};
  file["plot"]["y"] = "e2e_ms.p50";
  const Experiment experiment = parse_sample(file);
  EXPECT_EQ(experiment.metrics,
            (std::vector<std::string>{"ttft_ms", "ttft_ms.p99", "tpot_ms.p99.9"}));
  EXPECT_EQ(experiment.plots[0].y, "e2e_ms.p50");
  EXPECT_EQ(experiment.plots[0].name, "e2e_ms.p50");
  const char* known = "Known: p50, p90, p95, p99, p99.9";
  expect_refused("/metrics", {"ttft_ms.p98"}, "unknown percentile of ttft_ms \"p98\"");
  expect_refused("/metrics", {"ttft_ms.p98"}, known);
  expect_refused("/plot/y", "ttft_ms.", known);
  expect_refused("/plot/y", "ttft.p99", "did you mean \"ttft_ms\"");
  expect_refused("/metrics", {"kv_mb.p99"},
                 "kv_mb has no percentiles; in this kind these have: "
                 "ttft_ms, tpot_ms, e2e_ms");
  // A stack adds up its metrics, but a sum of percentiles has no meaning.
  expect_refused("/plot", {{"family", "stack"}, {"x", "prompt_tokens"}, {"stack", {"ttft_ms.p99"}}},
                 "unknown metric");
}

TEST(ExperimentFile, SeriesOfOneKindAreRefusedInAnother) {
  expect_refused("/series/0", "torch_sdpa", "is a series of kind \"attention\" alone");
  expect_refused("/series/0", "baseline", "is a series of kind \"accuracy\" and \"pml\" alone");
  expect_refused("/methods/0", "torch_sdpa", "is a series of kind \"attention\" alone");
  expect_refused("/series/0", "no_such", "kind \"ttft\" has no series; leave \"series\" out");
}

Json file_of_series() {
  return {{"name", "t"},
          {"title", "t"},
          {"kind", "attention"},
          {"methods", {"paged", "auto"}},
          {"series", {"torch_naive", "torch_sdpa"}}};
}

std::vector<std::string> names_of_points(const Json& file,
                                         const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> names;
  for (const MethodChoice& point : parse_sample(file, "desk", overrides).methods)
    names.push_back(point.name);
  return names;
}

TEST(ExperimentFile, SeriesAndMethodsAreListedApart) {
  const auto refused = [](const char* place, const Json& value, const std::string& part) {
    Json file = file_of_series();
    file[Json::json_pointer(place)] = value;
    EXPECT_NE(parse_message(file).find(part), std::string::npos) << parse_message(file);
  };
  refused(
      "/methods/1", "torch_sdpa",
      "\"methods.1.name\": \"torch_sdpa\" is a series of kind \"attention\", no method: list it "
      "under \"series\"");
  refused("/methods/0", "torch_sdpa", "and set \"compared_with\" to \"series\"");
  refused("/series/1", "contiguous",
          "\"series.1.name\": \"contiguous\" is a method, no series: list it under \"methods\"");
  refused("/series/0", "torch_native", "did you mean \"torch_naive\"");
  refused("/series/0", "torch_sdpa", "\"series\" lists torch_sdpa {} twice");
  refused("/compared_with", "serie", "did you mean \"series\"");
}

// The first point is the one with which the others are compared.
TEST(ExperimentFile, MethodsComeBeforeSeriesUnlessTheFileComparesWithSeries) {
  using Names = std::vector<std::string>;
  Json file = file_of_series();
  EXPECT_EQ(names_of_points(file), (Names{"paged", "auto", "torch_naive", "torch_sdpa"}));
  EXPECT_EQ(names_of_points(file, {"compared_with=series"}),
            (Names{"torch_naive", "torch_sdpa", "paged", "auto"}));
  EXPECT_EQ(names_of_points(file, {"series=torch_sdpa"}), (Names{"paged", "auto", "torch_sdpa"}));
  EXPECT_EQ(names_of_points(file, {"series="}), (Names{"paged", "auto"}));
  EXPECT_EQ(names_of_points(file, {"methods="}), (Names{"torch_naive", "torch_sdpa"}));
  EXPECT_NE(parse_message(file, {"methods=", "series="}).find("nothing would be measured"),
            std::string::npos);
  file.erase("methods");
  EXPECT_EQ(names_of_points(file), (Names{"torch_naive", "torch_sdpa"}));
  EXPECT_NE(parse_message(file, {"compared_with=methods"}).find("the file lists none"),
            std::string::npos);
  file.erase("series");
  EXPECT_NE(parse_message(file).find("\"methods\""), std::string::npos) << parse_message(file);
}

// Some kinds run no methods, only series.
TEST(ExperimentFile, KindsOfSeriesAloneRefuseEveryMethod) {
  int kinds = 0;
  for (const KindInfo& kind : known_kinds()) {
    if (kind.method_use) continue;
    ++kinds;
    Json file = {{"name", "t"}, {"title", "t"}, {"kind", kind.name}, {"models", {"m"}}};
    if (!kind.own_workloads.empty()) {
      file["workload"] = {{"name", kind.own_workloads.front().name}};
      if (kind.own_workloads.front().takes_file) file["workload"]["file"] = "items";
    }
    EXPECT_NE(parse_message(file).find("key \"series\""), std::string::npos) << parse_message(file);
    file["series"] = kind.series_names();
    EXPECT_EQ(parse_message(file), "");
    for (const methods::MethodEntry& entry : methods::known_methods()) {
      Json wrong = file;
      wrong["methods"] = {entry.info.name};
      const std::string text = parse_message(wrong);
      EXPECT_NE(text.find(fmt::format("method \"{}\" does not run in kind \"{}\", which compares "
                                      "series alone",
                                      entry.info.name, kind.name)),
                std::string::npos)
          << text;
      EXPECT_NE(text.find(kind.series.front().name), std::string::npos) << text;
    }
  }
  EXPECT_EQ(kinds, 5) << "accuracy, token_memory, state_copy, request_lengths, attention_maps";
}

// Options are checked when the file is read. They can also be set by --set.
TEST(ExperimentFile, OptionsOfMethodsAreCheckedByTheirDeclaration) {
  const auto refused = [](const Json& options, const std::string& part) {
    expect_refused("/methods/1", {{"name", "chunk_attention"}, {"options", options}}, part);
  };
  refused({{"chunk_token", 32}}, "did you mean \"chunk_tokens\"");
  refused({{"chunk_tokens", 8}}, "\"methods.1.options.chunk_tokens\" is 8, it must be from 16");
  refused({{"chunk_tokens", 24}}, "24 is no multiple of 16: try 16");
  refused({{"preset", "as_publised"}}, "did you mean \"as_published\"");
  refused({{"retain", 1}}, "must be true or false");
  Json file = sample_file();
  file["methods"][1] = {{"name", "chunk_attention"}, {"options", {{"chunk_tokens", 32}}}};
  const std::string text = parse_message(file, {"methods.1.options.chunk_tokens=7"});
  EXPECT_NE(text.find("sample.json with --set: key \"methods.1.options.chunk_tokens\" is 7"),
            std::string::npos)
      << text;
  const Json sdpa = {{"name", "torch_sdpa"}, {"options", {{"fast", 1}}}};
  const Json attention = {
      {"name", "t"}, {"title", "t"}, {"kind", "attention"}, {"series", Json::array({sdpa})}};
  EXPECT_NE(parse_message(attention).find("torch_sdpa\" has no options"), std::string::npos);
}

TEST(ExperimentFile, ChoicesKeepWhatWasSetAndWhatItResolvesTo) {
  Json file = sample_file();
  file["methods"][1] = {{"name", "chunk_attention"}, {"options", {{"preset", "as_published"}}}};
  const MethodChoice choice = parse_sample(file).methods[1];
  EXPECT_EQ(choice.options, (Fields{{"preset", "as_published"}}));
  EXPECT_EQ(choice.resolved.at("reuse_prefill"), Value(true));
  EXPECT_EQ(choice.resolved.at("chunk_tokens"), Value(64));
  EXPECT_FALSE(choice.resolved.contains("preset"));
}

TEST(ExperimentFile, WrongTypesNameTheKey) {
  expect_refused("/name", 3, "\"name\"");
  expect_refused("/models", "models/a", "\"models\" must be a list");
  expect_refused("/models/0", 3, "models.0");
  expect_refused("/dtypes", {1}, "\"dtypes\"");
  expect_refused("/dtypes", {"f33"}, "f33");
  expect_refused("/sweep", Json::array(), "sweep");
  expect_refused("/sweep/prompt_tokens", 8, "sweep.prompt_tokens");
  expect_refused("/sweep/prompt_tokens", {8, "x"}, "sweep.prompt_tokens");
  expect_refused("/settings/new_tokens", "two", "settings.new_tokens");
  expect_refused("/repetitions", 2.5, "repetitions");
  expect_refused("/seeds", 1, "seeds");
  expect_refused("/plot", "lines", "plot");
  expect_refused("/methods/1/options", 1, "methods.1.options");
}

TEST(ExperimentFile, EmptyListsAndRepeatedValuesAreRefused) {
  expect_refused("/models", Json::array(), "nothing would be measured");
  expect_refused("/methods", Json::array(), "nothing would be measured");
  expect_refused("/dtypes", Json::array(), "nothing would be measured");
  expect_refused("/sweep/prompt_tokens", Json::array(), "nothing would be measured");
  expect_refused("/sweep/prompt_tokens", {8, 8}, "twice");
  expect_refused("/dtypes", {"f32", "float32"}, "twice");
  expect_refused("/methods", {"paged", "paged"}, "twice");
  expect_refused("/metrics", {"ttft_ms", "tpot_ms", "ttft_ms"}, "lists ttft_ms twice");
  expect_refused("/plot",
                 {{"family", "stack"}, {"x", "prompt_tokens"}, {"stack", {"ttft_ms", "ttft_ms"}}},
                 "lists ttft_ms twice");
}

TEST(ExperimentFile, ImpossibleSizesAreRefused) {
  expect_refused("/sweep/prompt_tokens", {0}, "must be from 1");
  expect_refused("/sweep/prompt_tokens", {-1}, "must be from 1");
  expect_refused("/sweep/prompt_tokens", {int64_t{1} << 40}, "must be from 1");
  expect_refused("/settings/new_tokens", 1e9, "must be from 1");
  expect_refused("/repetitions", 0, "must be from 1");
  expect_refused("/warmup", -1, "must be from 0");
  expect_refused("/seeds/prompts", -1, "must be from 0");
  expect_refused("/sweep/prompt_tokens", std::vector<int>(1001, 1), "1001 entries");
}

TEST(ExperimentFile, NameMustServeAsAFolder) {
  for (const char* name : {"", "../x", "a b", "a/b"})
    expect_refused("/name", name, "names a folder");
}

TEST(ExperimentFile, AxisCannotBeSetAndSwept) {
  expect_refused("/settings/prompt_tokens", 8, "keep one of them");
}

TEST(ExperimentFile, LabelsTellPointsApart) {
  const auto message = [](const char* first, const char* second) {
    Json file = sample_file();
    file.erase("scales");
    file["methods"] = {{{"name", "recompute"}, {"label", first}},
                       {{"name", "contiguous"}, {"label", second}}};
    return parse_message(file);
  };
  EXPECT_EQ(message("a", "b"), "");
  EXPECT_EQ(message("contiguous", "b"), "");  // "b" hides the method's own name
  EXPECT_EQ(message("", ""), "");
  EXPECT_NE(message("a", "a").find("two points have the label \"a\""), std::string::npos);
  EXPECT_NE(message("contiguous", "").find("the label \"contiguous\" is the name of another"),
            std::string::npos);
}

TEST(ExperimentFile, CasesSetTheSameAxesAndNothingElseSetsThese) {
  const auto message = [](const Json& cases) {
    Json file = sample_file();
    file.erase("scales");
    file["cases"] = cases;
    return parse_message(file);
  };
  const auto one = [](const char* axis, int value) { return Json{{axis, value}}; };
  EXPECT_EQ(message(Json::array({one("shared_tokens", 8), one("shared_tokens", 4)})), "");
  EXPECT_NE(message(Json::array({one("prompt_tokens", 8)}))
                .find("\"sweep.prompt_tokens\" is in \"cases\" too"),
            std::string::npos);
  EXPECT_NE(message(Json::array({one("new_tokens", 8)}))
                .find("\"settings.new_tokens\" is in \"cases\" too"),
            std::string::npos);
  EXPECT_NE(message(Json::array({one("shared_tokens", 8), one("prefill_chunk", 8)}))
                .find("cases.1 sets prefill_chunk, but the first case shared_tokens"),
            std::string::npos);
  EXPECT_NE(message(Json::array({one("shared_tokens", 8), one("shared_tokens", 8)}))
                .find("is there twice"),
            std::string::npos);
  EXPECT_NE(message(Json::array()).find("nothing would be measured"), std::string::npos);
  EXPECT_NE(message(Json::array({Json::object()})).find("cases.0 sets no axis"), std::string::npos);
  EXPECT_NE(message(Json::array({one("shared_token", 8)})).find("shared_tokens"),
            std::string::npos);
  EXPECT_NE(message(Json::array({one("shared_tokens", -1)})).find("cases.0.shared_tokens"),
            std::string::npos);
  EXPECT_NE(message(Json::array({7})).find("cases.0"), std::string::npos);
  EXPECT_NE(message(Json::array({Json{{"model", "models/a"}}})).find("cases.0 sets no axis"),
            std::string::npos);
  EXPECT_NE(message(Json::array({Json{{"model", "models/b"}, {"shared_tokens", 8}}}))
                .find("no case is of model \"models/a\"; add one, or"),
            std::string::npos);
  EXPECT_NE(message(Json::array({Json{{"model", "models/a"}, {"shared_tokens", 8}},
                                 Json{{"model", "elsewhere/a"}, {"shared_tokens", 8}}}))
                .find("a case of model \"models/a\" is there twice, once as \"elsewhere/a\""),
            std::string::npos);
}

TEST(ExperimentFile, AnOverrideOfASettingThatNoModelUsesIsRefused) {
  Json file = sample_file();
  file.erase("scales");
  file["settings"]["shared_tokens"] = 2;
  file["cases"] = {{{"model", "models/a"}, {"shared_tokens", 8}},
                   {{"model", "llama-2-7b"}, {"shared_tokens", 4}}};
  EXPECT_EQ(parse_message(file), "");
  EXPECT_EQ(parse_message(file, {"settings.new_tokens=3"}), "");
  EXPECT_NE(parse_message(file, {"settings.shared_tokens=3"})
                .find("--set \"settings.shared_tokens=3\" has no effect"),
            std::string::npos);
  // The remedy, and a model without a case.
  EXPECT_EQ(parse_message(file, {"settings.shared_tokens=3", "cases=null"}), "");
  EXPECT_EQ(parse_message(file, {"settings.shared_tokens=3", "models=models/a,models/b"}), "");
}

TEST(ExperimentFile, ACaseOfSeveralModelsWithOneNameIsRefused) {
  Json file = sample_file();
  file.erase("scales");
  file["models"] = {"runs/a/final", "runs/b/final"};
  file["cases"] = {{{"model", "final"}, {"shared_tokens", 8}}};
  const std::string message = parse_message(file);
  EXPECT_NE(message.find("a case of model \"final\" may be of \"runs/a/final\" or of "
                         "\"runs/b/final\""),
            std::string::npos)
      << message;
  file["cases"] = {{{"model", "runs/a/final"}, {"shared_tokens", 8}},
                   {{"model", "runs/b/final"}, {"shared_tokens", 4}}};
  EXPECT_EQ(parse_message(file), "");
}

TEST(ExperimentFile, TextWorkloadNeedsItsFile) {
  expect_refused("/workload", "text_prompts", "\"workload.file\" is missing");
  Json file = sample_file();
  file["workload"] = {{"name", "text_prompts"}, {"file", "prompts.txt"}};
  EXPECT_EQ(parse_sample(file).workload.file, "prompts.txt");
}

TEST(ExperimentFile, AKindWithWorkloadsOfItsOwnTakesNoOther) {
  Vocabulary vocabulary = sample_vocabulary();
  for (KindInfo& kind : vocabulary.kinds)
    kind.own_workloads = {{.name = "riddles", .summary = "r", .takes_file = true},
                          {.name = "forms", .summary = "f", .takes_templates = true},
                          {.name = "guesses", .summary = "g"}};
  Json file = sample_file();
  const auto parse = [&] { return parse_experiment(file, "sample.json", "desk", {}, vocabulary); };
  const auto message = [&]() -> std::string {
    try {
      (void)parse();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message().find("\"workload\" is missing"), std::string::npos) << message();
  file["workload"] = "random_tokens";
  EXPECT_NE(message().find("unknown workload \"random_tokens\""), std::string::npos) << message();
  file["workload"] = "riddles";
  EXPECT_NE(message().find("\"workload.file\" is missing"), std::string::npos) << message();
  file["workload"] = {{"name", "riddles"}, {"file", "r.jsonl"}};
  EXPECT_EQ(parse().workload.file, "r.jsonl");
  file["workload"] = {{"name", "riddles"}, {"file", "r.jsonl"}, {"templates", "config"}};
  EXPECT_NE(message().find("unknown key \"templates\""), std::string::npos) << message();
  file["workload"] = {{"name", "forms"}, {"templates", "config"}};
  EXPECT_EQ(parse().workload.templates, "config");
  file["workload"] = "forms";
  EXPECT_EQ(parse().workload.templates, "");
  file["workload"] = "guesses";
  EXPECT_EQ(parse().workload.name, "guesses");
  expect_refused("/workload", "riddles", "unknown workload \"riddles\"");  // it is another kind's
}

TEST(ExperimentFile, MistakeInAScaleNotAskedForIsFound) {
  expect_refused("/scales/paper", {{"repetitons", 3}}, "at scale paper");
  expect_refused("/scales/paper", {{"repetitons", 3}}, "did you mean \"repetitions\"");
}

TEST(ExperimentFile, AnErrorOfSetSaysWhatTheScaleHasChanged) {
  Json file = sample_file();
  file["workload"] = {{"name", "text_prompts"}, {"file", "prompts.txt"}};
  file["scales"]["smoke"]["workload"] = {{"name", "random_tokens"}, {"file", nullptr}};
  const auto message = [&](const std::string& scale) -> std::string {
    try {
      (void)parse_experiment(value_of(file), "sample.json", scale, {"workload.file=mine.txt"},
                             sample_vocabulary());
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message("smoke").find("Scale smoke sets \"workload\" itself, to "
                                  "{\"file\":null,\"name\":\"random_tokens\"}"),
            std::string::npos)
      << message("smoke");
  EXPECT_EQ(message("desk"), "");
}

TEST(ExperimentFile, FiguresNeedDifferentNames) {
  const Json plot = {{"x", "prompt_tokens"}, {"y", "ttft_ms"}};
  expect_refused("/plot", Json::array({plot, plot}), "two figures");
}

TEST(ExperimentFile, FamiliesOfFiguresHaveKeysOfTheirOwn) {
  Json file = sample_file();
  file["sweep"]["new_tokens"] = {2, 4};
  file["settings"] = Json::object();
  file["plot"] = {
      {{"family", "map"}, {"x", "prompt_tokens"}, {"rows", "new_tokens"}, {"y", "ttft_speedup"}},
      {{"family", "stack"}, {"x", "prompt_tokens"}, {"stack", {"ttft_ms", "tpot_ms"}}},
      {{"x", "prompt_tokens"},
       {"y", "tpot_ms"},
       {"panels", "new_tokens"},
       {"reference", "e2e_ms"}}};
  const std::vector<results::Plot> plots = parse_sample(file).plots;
  EXPECT_EQ(plots[0].rows, "new_tokens");
  EXPECT_EQ(plots[1].stack, (std::vector<std::string>{"ttft_ms", "tpot_ms"}));
  EXPECT_EQ(plots[1].name, "stack");
  EXPECT_EQ(plots[2].panels, "new_tokens");
  EXPECT_EQ(plots[2].reference, "e2e_ms");
  file["plot"][1]["panels"] = "model";
  EXPECT_EQ(parse_sample(file).plots[1].panels, "model");
  expect_refused("/plot/panels", "metod", "panels");
  expect_refused("/plot", {{"family", "map"}, {"x", "prompt_tokens"}, {"y", "ttft_ms"}},
                 "plot.rows");
  expect_refused("/plot/rows", "new_tokens", "unknown key \"rows\"");
  expect_refused("/plot/panels", "new_token", "did you mean \"new_tokens\"");
  expect_refused("/plot/reference", "e2e", "did you mean \"e2e_ms\"");
  expect_refused("/plot/family", "maps", "did you mean \"map\"");
  expect_refused("/plot", {{"family", "stack"}, {"x", "prompt_tokens"}, {"stack", {"ttft"}}},
                 "did you mean \"ttft_ms\"");
}

TEST(ExperimentFile, MapsShowSpeedupsAndStacksOneUnit) {
  for (const char* y : {"ttft_ms", "ttft_over_limit", "compute_limit_ratio"})
    expect_refused("/plot",
                   {{"family", "map"}, {"x", "prompt_tokens"}, {"rows", "new_tokens"}, {"y", y}},
                   std::string(y) + " is none; kind \"ttft\" has ttft_speedup");
  expect_refused("/plot",
                 {{"family", "stack"}, {"x", "prompt_tokens"}, {"stack", {"ttft_ms", "kv_mb"}}},
                 "ttft_ms is in ms and kv_mb in MB");
}

TEST(ExperimentFile, TitlesAreFilledFromSettingsAndUnknownNamesRefused) {
  Json file = sample_file();
  file["title"] = "{model}: {new_tokens} tokens after {prompt_tokens}, {dtype}";
  EXPECT_EQ(filled(parse_sample(file).title, parse_sample(file)),
            "a and llama-2-7b: 2 tokens after 8 to 32, f32 and bf16");
  expect_refused("/title", "{promt_tokens} tokens", "did you mean \"prompt_tokens\"");
  expect_refused("/note", "{heads}", "unknown placeholder \"heads\"");
  expect_refused("/plot/title", "{batch", "without its }");
  file["title"] = "literally {{braces}}";
  EXPECT_EQ(filled(parse_sample(file).title, parse_sample(file)), "literally {braces}");
}

TEST(ExperimentFile, LabelsThatNoRecordMayHoldAreRefusedAtOnce) {
  for (const std::string& label : {std::string("a\x1b[31m"), std::string(3000, 'x')})
    expect_refused("/methods", Json::array({{{"name", "contiguous"}, {"label", label}}}),
                   "without control characters");
}

TEST(ExperimentFile, PointsTakeTurnsWhereTheKindCan) {
  EXPECT_FALSE(parse_sample(sample_file()).interleaves_points);
  expect_refused("/interleave", "points", "measures one point after another");
  expect_refused("/interleave", "point", "did you mean \"points\"");
}

TEST(ExperimentFile, FiguresCannotBeCalledAsPaths) {
  for (const char* name : {"../escaped", "a/b", ".hidden", "-o"})
    expect_refused("/plot/name", name, "it names files");
}

TEST(ExperimentFile, PaperNumbersAreThoseOfAShippedFile) {
  Json file = sample_file();
  file["paper_numbers"] = "chunk_attention_table3";
  EXPECT_EQ(parse_sample(file).paper_numbers, std::vector<std::string>{"chunk_attention_table3"});
  expect_refused("/paper_numbers", "chunk_attention_tabel3", "did you mean");
  expect_refused("/paper_numbers", {"chunk_attention_table3", 3}, "a list of names");
  file["paper_numbers"] = {"relay_attention_operator_a40", "relay_attention_operator_a100"};
  EXPECT_EQ(parse_sample(file).paper_numbers.size(), 2u);
}

TEST(ExperimentFile, ShippedFilesAreSound) {
  int files = 0;
  const std::filesystem::path folder = std::filesystem::path(REPRISE_SOURCE_DIR) / "experiments";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    for (const char* scale : {"smoke", "desk", "paper"})
      EXPECT_NO_THROW((void)load_experiment(entry.path(), scale, {}, sample_vocabulary()));
    ++files;
  }
  EXPECT_GE(files, 2);
}

}  // namespace
}  // namespace reprise::experiments
