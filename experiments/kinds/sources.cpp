#include "experiments/kinds/sources.h"

#include <sys/stat.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/model/checkpoint/content_hash.h"
#include "core/model/config/shapes.h"
#include "experiments/kinds/latency/use_case.h"
#include "experiments/kinds/shared/bench.h"
#include "results/hash.h"
#include "workloads/sentences/pairs.h"
#include "workloads/sentences/published.h"

namespace reprise::experiments {
namespace {

namespace fs = std::filesystem;

std::string hash_of_file(const fs::path& file) {
  return results::hash_text(results::hash_bytes(read_file(file)));
}

std::string hash_of_content(const fs::path& path) {
  try {
    return results::hash_text(model::content_hash_of(path, model::Coverage::kSamples).hash);
  } catch (const Error&) {  // loading it says why
    return "unreadable";
  }
}

Fields weights_of(const fs::path& dir) {
  Fields weights;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(dir, error)) {
    std::error_code unknown;
    const auto bytes = entry.file_size(unknown);
    if (entry.path().extension() != ".safetensors") continue;
    weights[entry.path().filename().string()] =
        Fields{{"bytes", unknown ? 0 : bytes}, {"content", hash_of_content(entry.path())}};
  }
  return weights;
}

fs::path place_of_model(const std::string& name) {
  try {
    return resolve_model(name);
  } catch (const Error&) {  // loading it says why
    return name;
  }
}

fs::path place_of_file(const std::string& name) {
  try {
    return resolve_path(name);
  } catch (const Error&) {  // loading it says why
    return name;
  }
}

Fields model_sources(const ModelChoice& choice) {
  const fs::path path = place_of_model(choice.model);
  std::error_code error;
  Fields sources;
  for (const char* name :
       {"config.json", "tokenizer.json", "tokenizer.model", "vocab.txt", "spm.model", "vocab.json",
        "merges.txt", "modules.json", "1_Pooling/config.json", "sentence_bert_config.json",
        "config_sentence_transformers.json"})
    if (fs::is_regular_file(path / name, error)) sources[name] = hash_of_file(path / name);
  for (const model::ShippedShape& shape : model::shape_texts())
    if (shape.name == choice.model && sources.empty())
      sources["config.json"] = results::hash_text(results::hash_bytes(shape.json));
  if (!choice.random_weights) sources["weights"] = weights_of(path);
  return sources;
}

// Identifies a large data file by size and modification time, because reading it would take too
// long.
Value file_source(const fs::path& path) {
  constexpr off_t kMostRead = 8 << 20;
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return "unreadable";
  if (facts.st_size <= kMostRead) return hash_of_file(path);
  return Fields{{"bytes", facts.st_size}, {"modified", facts.st_mtime}};
}

// True if the file's name is that of a data file, and not of a readme.
bool is_data(const fs::path& file) {
  const std::string name = file.filename(), end = file.extension();
  for (const char* known : {".json", ".jsonl", ".tsv", ".csv"})
    if (end == known) return true;
  return name.starts_with("STS") || name.ends_with("_labelled.txt") ||
         workloads::sentences::role_of(file) != workloads::sentences::FileRole::kAny;
}

// The data files of a folder and of its subfolders "test", "val" and "dev", where MMLU has its
// files.
Fields folder_sources(const fs::path& folder) {
  Fields files;
  std::error_code error;
  for (const char* below : {"", "test", "val", "dev"})
    for (const auto& entry : fs::directory_iterator(folder / below, error))
      if (entry.is_regular_file(error) && is_data(entry.path()))
        files[(below / entry.path().filename()).string()] = file_source(entry.path());
  return files;
}

Fields workload_sources(const Workload& workload) {
  Fields sources;
  std::error_code error;
  const fs::path file = place_of_file(workload.file);
  if (fs::is_regular_file(file, error))
    sources = {{"file", workload.file}, {"hash", hash_of_file(file)}};
  else if (fs::is_directory(file, error))
    sources = {{"file", workload.file}, {"files", folder_sources(file)}};
  if (const fs::path scores = workloads::sentences::scores_beside(file);
      fs::is_regular_file(scores, error))
    sources["scores_hash"] = hash_of_file(scores);
  if (const fs::path prompt = place_of_file(prompt_beside(workload.file));
      fs::is_regular_file(prompt, error))
    sources["prompt_hash"] = hash_of_file(prompt);
  if (!workload.templates.empty())
    sources["templates"] = folder_sources(place_of_file(workload.templates));
  return sources;
}

// Names of the data sets below the workload's folder that are values of an axis of the experiment;
// empty if there is no such axis.
std::vector<std::string> sets_of(const Experiment& experiment) {
  std::vector<std::string> sets;
  for (size_t a = 0; a < experiment.axis_values.size(); ++a)
    if (experiment.kind.axes[a].name == "set")
      for (const AxisValue& value : experiment.axis_values[a])
        if (!value.text().empty()) sets.push_back(value.text());
  return sets;
}

Fields workload_sources(const Experiment& experiment) {
  const std::vector<std::string> sets = sets_of(experiment);
  if (sets.empty()) return workload_sources(experiment.workload);
  Fields sources = {{"file", experiment.workload.file}};
  Fields of_sets;
  for (const std::string& set : sets) {
    Workload one = experiment.workload;
    one.file = (fs::path(one.file) / set).string();
    of_sets[set] = workload_sources(one);
  }
  sources["sets"] = std::move(of_sets);
  return sources;
}

bool is_known_model(const std::string& name) {
  try {
    (void)resolve_model(name);
    return true;
  } catch (const Error&) {  // missing_inputs() names it
    return false;
  }
}

// The files and folders of data that the experiment names.
std::vector<std::string> data_of(const Experiment& experiment) {
  std::vector<std::string> names;
  const Workload& workload = experiment.workload;
  for (const std::string& set : sets_of(experiment))
    names.push_back((fs::path(workload.file) / set).string());
  if (names.empty() && !workload.file.empty()) names.push_back(workload.file);
  if (!workload.templates.empty()) names.push_back(workload.templates);
  return names;
}

}  // namespace

Fields sources_of(const Experiment& experiment) {
  Fields sources;
  Fields models;
  for (const ModelChoice& choice : experiment.models)
    if (!choice.model.empty()) models[choice.model] = model_sources(choice);
  if (!models.empty()) sources["models"] = std::move(models);
  if (!experiment.workload.file.empty())
    if (Fields workload = workload_sources(experiment); !workload.empty())
      sources["workload"] = std::move(workload);
  return sources;
}

std::vector<std::string> missing_inputs(const Experiment& experiment) {
  std::vector<std::string> missing;
  for (const ModelChoice& choice : experiment.models)
    if (!choice.model.empty() && !choice.random_weights && !is_known_model(choice.model) &&
        std::find(missing.begin(), missing.end(), choice.model) == missing.end())
      missing.push_back(choice.model);
  for (const std::string& name : data_of(experiment)) {
    std::error_code error;
    if (!fs::exists(place_of_file(name), error)) missing.push_back(name);
  }
  return missing;
}

}  // namespace reprise::experiments
