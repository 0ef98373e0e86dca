#include "experiments/kinds/sources.h"

#include <sys/stat.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/model/checkpoint/content_hash.h"
#include "core/model/config/shapes.h"
#include "core/sentence/sentence_folder.h"
#include "experiments/kinds/latency/use_case.h"
#include "experiments/kinds/shared/bench.h"
#include "methods/prompt_cache/pml/markup.h"
#include "methods/prompt_cache/pml/src_file.h"
#include "methods/prompt_cache/pml/xml_file.h"
#include "methods/registry.h"
#include "results/hash.h"
#include "workloads/longbench/prompts.h"
#include "workloads/questions/mmlu_files.h"
#include "workloads/sentences/pairs.h"
#include "workloads/sentences/published.h"
#include "workloads/serving/servegen_client.h"

namespace reprise::experiments {
namespace {

namespace fs = std::filesystem;

std::string hash_of_file(const fs::path& file) {
  return results::hash_text(results::hash_bytes(read_file(file)));
}

std::string hash_of_content(const fs::path& path) {
  try {
    return results::hash_text(model::content_hash_of(path, model::Coverage::kSamples).hash);
  } catch (const Error&) {  // loading the model reports why
    return "unreadable";
  }
}

Fields weights_of(const fs::path& path, const std::vector<fs::path>& folders) {
  Fields weights;
  std::error_code error;
  for (const fs::path& folder : folders)
    for (const auto& entry : fs::directory_iterator(path / folder, error)) {
      std::error_code unknown;
      const auto bytes = entry.file_size(unknown);
      if (entry.path().extension() != ".safetensors") continue;
      weights[(folder / entry.path().filename()).lexically_normal().string()] =
          Fields{{"bytes", unknown ? 0 : bytes}, {"content", hash_of_content(entry.path())}};
    }
  return weights;
}

fs::path place_of_model(const std::string& name) {
  try {
    return resolve_model(name);
  } catch (const Error&) {  // loading the model reports why
    return name;
  }
}

fs::path place_of_file(const std::string& name) {
  try {
    return resolve_path(name);
  } catch (const Error&) {  // loading the file reports why
    return name;
  }
}

// The folders that a model's files are read from, relative to `path`: `path` itself and, if it is a
// sentence-transformers folder, those of its transformer and its pooling.
std::vector<fs::path> folders_of_model(const fs::path& path) {
  std::vector<fs::path> folders = {""};
  try {
    if (const auto found = sentence::read_sentence_folder(path))
      for (const fs::path& folder : {found->model, found->pooling_folder})
        if (folder != path) folders.push_back(folder.lexically_relative(path));
  } catch (const Error&) {  // loading the model reports why
  }
  return folders;
}

Fields model_sources(const ModelChoice& choice) {
  const fs::path path = place_of_model(choice.model);
  const std::vector<fs::path> folders = folders_of_model(path);
  std::error_code error;
  Fields sources;
  std::vector<const char*> names = {"config.json",
                                    "generation_config.json",
                                    "tokenizer.json",
                                    "tokenizer.model",
                                    "tokenizer_config.json",
                                    "added_tokens.json",
                                    "special_tokens_map.json",
                                    "chat_template.jinja",
                                    "vocab.txt",
                                    "spm.model",
                                    "vocab.json",
                                    "merges.txt",
                                    "modules.json",
                                    "1_Pooling/config.json",
                                    "config_sentence_transformers.json"};
  names.insert(names.end(), sentence::kTransformerFiles.begin(), sentence::kTransformerFiles.end());
  for (const fs::path& folder : folders)
    for (const char* name : names)
      if (const fs::path file = path / folder / name; fs::is_regular_file(file, error))
        sources[(folder / name).lexically_normal().string()] = hash_of_file(file);
  for (const model::ShippedShape& shape : model::shape_texts())
    if (shape.name == choice.model && sources.empty())
      sources["config.json"] = results::hash_text(results::hash_bytes(shape.json));
  if (!choice.random_weights) sources["weights"] = weights_of(path, folders);
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

// True if the file's name is that of a data file of the workload; false for example for a readme.
bool is_data(const fs::path& file, const std::string& workload) {
  const std::string name = file.filename(), end = file.extension();
  if (workload == "system_prompts") return end == ".txt" || end == ".md";
  if (workload == "mmlu_lengths") return name.starts_with("mmlu_") && end == ".json";
  for (const char* known : {".json", ".jsonl", ".tsv", ".csv"})
    if (end == known) return true;
  return name.starts_with("STS") || name.ends_with("_labelled.txt") ||
         workloads::sentences::role_of(file) != workloads::sentences::FileRole::kAny;
}

// The data files of a folder's subfolders; the subfolder "" is the folder itself.
Fields folder_sources(const fs::path& folder, const std::vector<fs::path>& subfolders,
                      const std::string& workload) {
  Fields files;
  std::error_code error;
  for (const fs::path& below : subfolders)
    for (const auto& entry : fs::directory_iterator(folder / below, error))
      if (entry.is_regular_file(error) && is_data(entry.path(), workload))
        files[(below / entry.path().filename()).string()] = file_source(entry.path());
  return files;
}

// The texts that a schema's file names by src=.
Fields texts_of_schema(const fs::path& schema) {
  Fields texts;
  try {
    std::vector<std::string> notes;
    const pml::Source source = pml::read_leniently(schema, notes);
    pml::Report report(source.name());
    const pml::XmlFile file(source, {}, report);
    size_t budget_bytes = pml::Limits().src_bytes;
    for (const pugi::xpath_node& found : file.root().select_nodes("//@src")) {
      const std::string name = found.attribute().value();
      texts[name] =
          results::hash_text(results::hash_bytes(pml::read_src(source, name, budget_bytes)));
    }
  } catch (const Error&) {  // loading the schema reports why
    texts.clear();
  }
  return texts;
}

// The place of data is a file, or a folder and those of its subfolders that are read. By default
// these are the folder itself and the subfolders in which MMLU has its files.
struct Place {
  fs::path path;
  std::vector<fs::path> subfolders = {"", "test", "val", "dev"};
};

// The place of the workload's file, or the folder around the file if the workload reads other files
// there: MMLU's other splits, or the other of its two lists of lengths.
Place place_of_workload(const Workload& workload) {
  fs::path place = place_of_file(workload.file);
  if (!place.has_filename()) place = place.parent_path();
  std::error_code error;
  const bool is_folder = fs::is_directory(place, error);
  const std::vector<std::string> splits = workloads::questions::mmlu_splits();
  const bool is_split = std::find(splits.begin(), splits.end(), place.filename()) != splits.end();
  const bool is_of_splits = workload.name == "mmlu" && is_folder && is_split;
  const bool is_list = workload.name == "mmlu_lengths" && !is_folder;
  if (!is_of_splits && !is_list) return {.path = place};
  Place around{.path = fs::absolute(place).parent_path()};
  if (is_list) return around;
  around.subfolders.clear();
  for (const std::string& split : splits) {
    around.subfolders.emplace_back(split);
    around.subfolders.push_back(place.filename() / split);
  }
  return around;
}

// Returns the sources of LongBench's templates in the folder of one of its data files.
Fields templates_beside(const fs::path& data) {
  Fields templates;
  for (const fs::path& file : workloads::longbench::template_files(data.parent_path()))
    templates[file.filename().string()] = file_source(file);
  return templates;
}

Fields workload_sources(const Workload& workload) {
  Fields sources;
  std::error_code error;
  const auto [file, subfolders] = place_of_workload(workload);
  if (fs::is_regular_file(file, error))
    sources = {{"file", workload.file}, {"hash", hash_of_file(file)}};
  else if (fs::is_directory(file, error))
    sources = {{"file", workload.file}, {"files", folder_sources(file, subfolders, workload.name)}};
  if (const fs::path scores = workloads::sentences::scores_beside(file);
      fs::is_regular_file(scores, error))
    sources["scores_hash"] = hash_of_file(scores);
  if (const fs::path lengths = workloads::serving::dataset_beside(file);
      workload.name == "servegen" && fs::is_regular_file(lengths, error))
    sources["lengths_hash"] = hash_of_file(lengths);
  if (const fs::path prompt = place_of_file(prompt_beside(workload.file));
      fs::is_regular_file(prompt, error))
    sources["prompt_hash"] = hash_of_file(prompt);
  if (workload.file.ends_with(kSchemaEnding))
    if (Fields texts = texts_of_schema(file); !texts.empty()) sources["texts"] = std::move(texts);
  if (const std::string name = file.stem();
      workload.name == "mmlu" && !fs::is_directory(file, error))
    if (const fs::path examples =
            workloads::questions::mmlu_examples_of(file, name.substr(0, name.rfind('_')));
        fs::is_regular_file(examples, error))
      sources["examples_hash"] = hash_of_file(examples);
  if (!workload.templates.empty())
    sources["templates"] =
        folder_sources(place_of_file(workload.templates), Place{}.subfolders, "");
  else if (workload.name == "longbench" && fs::is_regular_file(file, error))
    sources["templates"] = templates_beside(file);
  return sources;
}

// The values of the experiment's axis `set`, which are names of data sets below the workload's
// folder; empty if the experiment has no such axis.
std::vector<std::string> sets_of(const Experiment& experiment) {
  std::vector<std::string> sets;
  for (size_t a = 0; a < experiment.axis_values.size(); ++a)
    if (experiment.kind.axes[a].name == "set")
      for (const AxisValue& value : experiment.axis_values[a])
        if (!value.text().empty()) sets.push_back(value.text());
  return sets;
}

// Names of the schemas in the workload's folder that are values of the axis use_case; empty if the
// schemas are the shipped ones.
std::vector<std::string> schemas_of(const Experiment& experiment) {
  std::vector<std::string> schemas;
  if (experiment.workload.name != "use_cases" || experiment.workload.file.empty()) return schemas;
  for (size_t a = 0; a < experiment.axis_values.size(); ++a)
    if (experiment.kind.axes[a].name == "use_case")
      for (const AxisValue& value : experiment.axis_values[a])
        schemas.push_back(value.text() + std::string(kSchemaEnding));
  return schemas;
}

Fields workload_sources(const Experiment& experiment) {
  std::vector<std::string> sets = sets_of(experiment);
  if (sets.empty()) sets = schemas_of(experiment);
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

// The files that options of the methods name.
Fields method_sources(const Experiment& experiment) {
  Fields files;
  std::error_code error;
  for (const MethodChoice& choice : experiment.methods)
    for (const methods::MethodEntry& entry : methods::known_methods()) {
      if (entry.info.name != choice.name) continue;
      for (const reuse::OptionInfo& option : entry.list_options().options)
        if (const std::string file = text_of(choice.resolved, option.name);
            option.is_file && fs::is_regular_file(file, error))
          files[file] = hash_of_file(file);
    }
  return files;
}

bool is_known_model(const std::string& name) {
  try {
    (void)resolve_model(name);
    return true;
  } catch (const Error&) {  // missing_inputs() names this model
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
  for (const ModelChoice& choice : experiment.models) {
    if (choice.model.empty()) continue;
    // If a model is listed with random weights too, the fingerprint with its weights stays.
    Value& known = models[choice.model];
    if (known.is_null() || !choice.random_weights) known = model_sources(choice);
  }
  if (!models.empty()) sources["models"] = std::move(models);
  if (!experiment.workload.file.empty())
    if (Fields workload = workload_sources(experiment); !workload.empty())
      sources["workload"] = std::move(workload);
  if (Fields files = method_sources(experiment); !files.empty())
    sources["method_files"] = std::move(files);
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
