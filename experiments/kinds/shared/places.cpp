#include "experiments/kinds/shared/places.h"

#include <algorithm>

#include "core/base/cache_folder.h"
#include "core/base/data_folders.h"
#include "core/base/error.h"
#include "core/model/config/config.h"
#include "results/catalogue.h"
#include "results/data_dir.h"

namespace reprise::experiments {

namespace fs = std::filesystem;

namespace {

// Folders of models in `place`, sorted; none if `place` does not exist.
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

// Looks where resolve_path() looks and returns the first file or folder that exists, or else
// `path`.
std::string found_path(const std::string& path) {
  std::error_code error;
  if (fs::exists(path, error)) return path;
  if (const auto own = results::find_data_dir(); own && fs::exists(*own / path, error))
    return (*own / path).string();
  if (const fs::path fetched = find_data(path); !fetched.empty()) return fetched.string();
  return path;
}

}  // namespace

std::string resolve_path(const std::string& path) {
  std::string found = found_path(path);
  if (std::error_code error; path.empty() || fs::exists(found, error)) return found;
  if (const std::string remedy = results::how_to_fetch(path); !remedy.empty())
    raise("{} is not here. {}", path, remedy);
  return found;
}

std::string existing_path(const std::string& path) {
  if (path.empty()) return path;
  std::string found = resolve_path(path);
  if (std::error_code error; !fs::exists(found, error))
    raise("there is no file or folder {}; give the workload one that exists", path);
  return found;
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
  if (const std::string path = found_path(name); !name.empty() && fs::exists(path, error))
    return path;
  std::vector<std::string> names = model::shipped_shapes();
  if (std::find(names.begin(), names.end(), name) != names.end()) return name;
  for (const fs::path& model : shipped_models()) {
    if (model.filename() == name) return (results::data_dir() / model).string();
    names.push_back(model.filename().string());
  }
  for (const fs::path& folder : data_folders())
    for (const fs::path& model : models_in(folder / "models")) {
      if (model.filename() == name) return model.string();
      names.push_back(model.filename().string());
    }
  if (const std::string remedy = results::how_to_fetch(name); !remedy.empty())
    raise("the model {} is not here. {}", name, remedy);
  for (const results::CatalogueEntry& entry : results::catalogue())
    if (entry.path.starts_with("checkpoints/")) names.push_back(entry.path);
  raise("there is no folder {}, and {}", name, unknown_name("model", name, names));
}

}  // namespace reprise::experiments
