#include "experiments/kinds/places.h"

#include <algorithm>
#include <cstdlib>

#include "core/base/error.h"
#include "core/model/config/config.h"
#include "results/data_dir.h"

namespace reprise::experiments {

namespace fs = std::filesystem;

std::string resolve_path(const std::string& path) {
  std::error_code error;
  const fs::path shipped = results::data_dir() / path;
  return !fs::exists(path, error) && fs::exists(shipped, error) ? shipped.string() : path;
}

std::vector<fs::path> shipped_models() {
  std::vector<fs::path> models;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(results::data_dir() / "models", error))
    if (fs::exists(entry.path() / "config.json", error))
      models.push_back(fs::path("models") / entry.path().filename());
  std::sort(models.begin(), models.end());
  return models;
}

fs::path fetched_models_dir() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return fs::path(cache) / "reprise" / "models";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return {};
  return fs::path(home) / ".cache" / "reprise" / "models";
}

std::string resolve_model(const std::string& name) {
  std::error_code error;
  if (const std::string path = resolve_path(name); !name.empty() && fs::exists(path, error))
    return path;
  std::vector<std::string> names = model::shipped_shapes();
  if (std::find(names.begin(), names.end(), name) != names.end()) return name;
  for (const fs::path& model : shipped_models()) {
    if (model.filename() == name) return (results::data_dir() / model).string();
    names.push_back(model.filename().string());
  }
  for (const auto& entry : fs::directory_iterator(fetched_models_dir(), error)) {
    if (entry.path().filename() == name) return entry.path().string();
    names.push_back(entry.path().filename().string());
  }
  raise("there is no folder {}, and {}", name, unknown_name("model", name, names));
}

}  // namespace reprise::experiments
