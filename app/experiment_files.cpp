#include "app/experiment_files.h"

#include <algorithm>

#include "core/base/error.h"
#include "results/data_dir.h"

namespace reprise::app {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::vector<fs::path> shipped_experiments() {
  std::vector<fs::path> found;
  std::error_code error;
  const fs::path data = results::data_dir();
  for (const auto& entry : fs::recursive_directory_iterator(data / "experiments", error))
    if (entry.path().extension() == ".json") found.push_back(entry.path().lexically_relative(data));
  std::sort(found.begin(), found.end());
  return found;
}

fs::path find_experiment(const std::string& name) {
  std::error_code error;
  if (fs::is_regular_file(name, error)) return name;
  std::vector<std::string> names;
  for (const fs::path& path : shipped_experiments()) {
    const std::string short_name =
        path.lexically_relative("experiments").replace_extension().string();
    if (name == path.string() || name == short_name || name == short_name + ".json")
      return results::data_dir() / path;
    names.push_back(short_name);
  }
  const std::string unknown = unknown_name("experiment", name, names);
  if (fs::is_directory(name, error)) raise("{} is a folder, and {}", name, unknown);
  if (fs::exists(name, error)) raise("{} is a pipe or a device, and {}", name, unknown);
  raise("there is no file {}, and {}", name, unknown);
}

}  // namespace reprise::app
