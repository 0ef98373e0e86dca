#include "experiments/kinds/shared/places.h"

#include <algorithm>

#include "core/base/cache_folder.h"
#include "core/base/error.h"
#include "core/model/config/config.h"
#include "results/data_dir.h"

namespace reprise::experiments {

namespace fs = std::filesystem;

namespace {

// The model that `./setup.sh --models` downloads.
constexpr const char* kFetched = "all-MiniLM-L6-v2";

// Folders of models in `place`, sorted; none if it does not exist.
std::vector<fs::path> models_in(const fs::path& place) {
  std::vector<fs::path> models;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(place, error))
    if (fs::exists(entry.path() / "config.json", error) ||
        fs::exists(entry.path() / "modules.json", error))
      models.push_back(entry.path());
  std::sort(models.begin(), models.end());
  return models;
}

}  // namespace

std::string resolve_path(const std::string& path) {
  std::error_code error;
  const fs::path shipped = results::data_dir() / path;
  return !fs::exists(path, error) && fs::exists(shipped, error) ? shipped.string() : path;
}

std::vector<fs::path> shipped_models() {
  std::vector<fs::path> models;
  for (const fs::path& model : models_in(results::data_dir() / "models"))
    models.push_back(fs::path("models") / model.filename());
  return models;
}

fs::path fetched_models_dir() {
  const fs::path folder = cache_folder();
  return folder.empty() ? folder : folder / "models";
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
  for (const fs::path& model : models_in(fetched_models_dir())) {
    if (model.filename() == name) return model.string();
    names.push_back(model.filename().string());
  }
  if (name == kFetched)
    raise("{} does not come with this program: ./setup.sh --models fetches it", name);
  raise("there is no folder {}, and {}", name, unknown_name("model", name, names));
}

}  // namespace reprise::experiments
