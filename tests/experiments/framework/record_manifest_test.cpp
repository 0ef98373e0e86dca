// Tests manifests that are made from records: the sweep, and which points of it are missing.
#include "experiments/framework/record_manifest.h"

#include <gtest/gtest.h>

#include "experiments/framework/sweep.h"
#include "results/folder.h"
#include "tests/experiments/framework/sample_experiment.h"
#include "tests/results/sample_record.h"

namespace reprise::experiments {
namespace {

std::vector<results::Record> records_of(const Experiment& experiment) {
  std::vector<results::Record> records;
  for (const Group& group : expand(experiment, {.context = {.threads = 1}}))
    for (size_t i = 0; i < group.requested.size(); ++i) {
      records.push_back(results::sample_record(group.point_ids[i], group.id, static_cast<int>(i),
                                               static_cast<int>(group.requested.size())));
      records.back().settings.requested = group.requested[i];
    }
  return records;
}

results::ResultsFolder folder_of(const std::vector<results::Record>& records,
                                 const std::optional<Experiment>& shipped = std::nullopt) {
  results::ResultsFolder folder{.source = "r.jsonl", .run = {}, .records = records, .skipped = {}};
  folder.run = manifest_of_records(records, folder.source, shipped, sample_vocabulary());
  results::check_made_manifest(folder.run, folder.source);
  return folder;
}

// Four axes with 20 values each have 160000 combinations. Only the 20 of the cases were planned.
TEST(RecordManifest, HasThePlacesOfTheRecordsAndNoOthers) {
  Json file = sample_file();
  for (const char* key : {"scales", "sweep", "settings"}) file.erase(key);
  file["dtypes"] = {"f32"};
  for (int i = 1; i <= 20; ++i)
    file["cases"].push_back({{"model", i % 2 == 0 ? "models/a" : "llama-2-7b"},
                             {"prompt_tokens", 100 + i},
                             {"shared_tokens", i},
                             {"new_tokens", i},
                             {"modules", i}});
  std::vector<results::Record> records = records_of(parse_sample(file));
  ASSERT_EQ(records.size(), 40u);
  EXPECT_TRUE(results::missing_points(folder_of(records)).empty());
  records.pop_back();
  const std::vector<results::MissingPoints> missing = results::missing_points(folder_of(records));
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing[0].methods, std::vector<std::string>{"contiguous"});
}

// 20 models, 20 prompt lengths and 2 methods make 800 points. If a case that names its model
// counted for all models, there would be 20 times as many.
TEST(RecordManifest, CountsACaseOnceIfItNamesItsModel) {
  Json file = sample_file();
  for (const char* key : {"scales", "sweep", "models"}) file.erase(key);
  file["dtypes"] = {"f32"};
  for (int i = 1; i <= 20; ++i) {
    file["models"].push_back("models/" + std::to_string(i));
    file["sweep"]["prompt_tokens"].push_back(i);
  }
  const std::vector<results::Record> records = records_of(parse_sample(file));
  ASSERT_EQ(records.size(), 800u);
  EXPECT_TRUE(results::missing_points(folder_of(records)).empty());
}

// One prompt length comes only with one dtype (or weights, or weight_format), the other length only
// with another. The other two combinations were not planned, so they are not missing.
TEST(RecordManifest, HasThePlacesOfTheRecordsWithSeveralDtypesAndWeights) {
  Json file = sample_file();
  for (const char* key : {"scales", "sweep"}) file.erase(key);
  file["models"] = {"models/a"};
  file["dtypes"] = {"f32"};
  file["sweep"] = {{"prompt_tokens", {8, 16}}};
  for (const auto& [name, value] : {std::pair{"dtype", "bf16"}, std::pair{"weights", "random"},
                                    std::pair{"weight_format", "int8"}}) {
    std::vector<results::Record> records = records_of(parse_sample(file));
    for (results::Record& record : records)
      if (record.requested("prompt_tokens") == Value(16)) record.settings.requested[name] = value;
    EXPECT_TRUE(results::missing_points(folder_of(records)).empty()) << name;
    records.pop_back();
    EXPECT_EQ(results::missing_points(folder_of(records)).size(), 1u) << name;
  }
}

TEST(RecordManifest, HasThePlacesOfTheRecordsIfTheShippedExperimentNamesNoCases) {
  const Experiment shipped = parse_sample(sample_file());
  std::vector<results::Record> records = records_of(shipped);
  std::erase_if(records, [](const results::Record& record) {
    return record.requested("model") == Value("models/a") &&
           record.requested("prompt_tokens") == Value(32);
  });
  EXPECT_TRUE(results::missing_points(folder_of(records, shipped)).empty());
}

// `reprise run --set cases=...` measures other cases than those of the shipped experiment.
TEST(RecordManifest, HasTheShippedCasesOnlyIfEachRecordIsOfOne) {
  Json file = sample_file();
  for (const char* key : {"scales", "sweep", "settings"}) file.erase(key);
  file["cases"] = {{{"prompt_tokens", 8}, {"new_tokens", 2}},
                   {{"prompt_tokens", 16}, {"new_tokens", 4}}};
  const Experiment shipped = parse_sample(file);
  std::vector<results::Record> some = records_of(shipped);
  std::erase_if(some, [](const results::Record& record) {
    return record.requested("method") == Value("recompute") &&
           record.requested("prompt_tokens") == Value(16);
  });
  EXPECT_EQ(folder_of(some, shipped).run.settings.cases.size(), 2u);
  EXPECT_FALSE(results::missing_points(folder_of(some, shipped)).empty());

  file["cases"] = {{{"prompt_tokens", 8}, {"new_tokens", 4}},
                   {{"prompt_tokens", 16}, {"new_tokens", 2}}};
  const results::ResultsFolder others = folder_of(records_of(parse_sample(file)), shipped);
  for (const Fields& one : others.run.settings.cases)
    EXPECT_EQ(field_of(one, "new_tokens"),
              Value(field_of(one, "prompt_tokens") == Value(8) ? 4 : 2));
  EXPECT_TRUE(results::missing_points(others).empty());
}

TEST(RecordManifest, HasMeansOnlyOverAllValuesOfTheShippedExperiment) {
  Json file = sample_file();
  file["mean_over"] = "prompt_tokens";
  const Experiment shipped = parse_sample(file);
  std::vector<results::Record> records = records_of(shipped);
  EXPECT_EQ(folder_of(records, shipped).run.mean_over, "prompt_tokens");
  std::erase_if(records, [](const results::Record& record) {
    return record.requested("prompt_tokens") == Value(32);
  });
  EXPECT_EQ(folder_of(records, shipped).run.mean_over, "");
}

TEST(RecordManifest, NamesEachMethodThatARunLeftOutOnce) {
  const Experiment shipped = parse_sample(sample_file());
  std::vector<results::Record> records = records_of(shipped);
  for (size_t i = 0; i < 2; ++i)
    records[i].experiment.left_out = {{.method = "torch_sdpa", .reason = "No libtorch."}};
  records[1].experiment.left_out.push_back({.method = "other", .reason = "No other."});
  const auto left_out = folder_of(records, shipped).run.left_out;
  ASSERT_EQ(left_out.size(), 2u);
  EXPECT_EQ(left_out[0].method, "torch_sdpa");
  EXPECT_EQ(left_out[1].reason, "No other.");
}

TEST(RecordManifest, TellsTheRecordsOfAStandIn) {
  Json file = sample_file();
  file["scales"]["desk"] = {{"stand_in", {{"note", "Stands in."}, {"models", {"models/small"}}}}};
  const auto parsed = [&](Inputs inputs) {
    return parse_experiment(value_of(file), "sample.json", "desk", {}, sample_vocabulary(), inputs);
  };
  const Experiment named = parsed(Inputs::kNamed), stand_in = parsed(Inputs::kStandIn);
  EXPECT_TRUE(have_inputs_of(stand_in, records_of(stand_in)));
  EXPECT_FALSE(have_inputs_of(stand_in, records_of(named)));
  EXPECT_TRUE(have_inputs_of(named, records_of(named)));
  std::vector<results::Record> records = records_of(stand_in);
  for (results::Record& record : records)
    record.settings.requested["workload"] =
        Fields{{"name", "text_prompts"}, {"file", "prompts.txt"}};
  EXPECT_FALSE(have_inputs_of(stand_in, records));
}

}  // namespace
}  // namespace reprise::experiments
