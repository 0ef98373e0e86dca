#include "core/base/data_folders.h"

#include <cstdlib>

#include "core/base/cache_folder.h"

namespace reprise {

namespace fs = std::filesystem;

std::vector<fs::path> data_folders() {
  std::vector<fs::path> folders;
  const char* named = std::getenv("REPRISE_DATA");
  if (named != nullptr && *named != '\0') folders.emplace_back(named);
  if (const fs::path cache = cache_folder(); !cache.empty()) folders.push_back(cache);
  return folders;
}

fs::path find_data(const std::string& name) {
  if (name.empty() || fs::path(name).is_absolute()) return {};
  std::error_code error;
  for (const fs::path& folder : data_folders())
    if (fs::exists(folder / name, error)) return folder / name;
  return {};
}

}  // namespace reprise
