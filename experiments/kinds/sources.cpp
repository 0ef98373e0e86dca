#include "experiments/kinds/sources.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/model/checkpoint/safetensors.h"
#include "core/model/config/shapes.h"
#include "experiments/kinds/bench.h"
#include "experiments/kinds/use_case.h"
#include "results/hash.h"

namespace reprise::experiments {
namespace {

namespace fs = std::filesystem;

std::string hash_of_file(const fs::path& file) {
  return results::hash_text(results::hash_bytes(read_file(file)));
}

std::string hash_of_header(const fs::path& path) {
  try {
    const auto header = model::safetensors_header_of(path);
    return header ? results::hash_text(results::hash_bytes(*header)) : "unreadable";
  } catch (const Error&) {  // loading it says why
    return "unreadable";
  }
}

Json weights_of(const fs::path& dir) {
  Json weights = Json::object();
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(dir, error)) {
    struct stat facts {};
    if (entry.path().extension() != ".safetensors" || ::stat(entry.path().c_str(), &facts) != 0)
      continue;
    weights[entry.path().filename().string()] = {{"bytes", facts.st_size},
                                                 {"modified", facts.st_mtime},
                                                 {"header", hash_of_header(entry.path())}};
  }
  return weights;
}

Json model_sources(const ModelChoice& choice) {
  const fs::path path = resolve_path(choice.model);
  std::error_code error;
  Json sources = Json::object();
  for (const char* name : {"config.json", "tokenizer.json", "tokenizer.model", "vocab.txt"})
    if (fs::is_regular_file(path / name, error)) sources[name] = hash_of_file(path / name);
  for (const model::ShippedShape& shape : model::shape_texts())
    if (shape.name == choice.model && sources.empty())
      sources["config.json"] = results::hash_text(results::hash_bytes(shape.json));
  if (!choice.random_weights) sources["weights"] = weights_of(path);
  return sources;
}

}  // namespace

Json sources_of(const Experiment& experiment) {
  Json sources = Json::object();
  for (const ModelChoice& choice : experiment.models)
    if (!choice.model.empty()) sources["models"][choice.model] = model_sources(choice);
  const std::string& file = experiment.workload.file;
  std::error_code error;
  if (!file.empty() && fs::is_regular_file(resolve_path(file), error))
    sources["workload"] = {{"file", file}, {"hash", hash_of_file(resolve_path(file))}};
  if (const std::string prompt = resolve_path(prompt_beside(file));
      fs::is_regular_file(prompt, error))
    sources["workload"]["prompt_hash"] = hash_of_file(prompt);
  return sources;
}

}  // namespace reprise::experiments
