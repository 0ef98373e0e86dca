#include "results/data_dir.h"

#include <cstdlib>

#include "core/base/error.h"
#include "core/base/program_prefix.h"

namespace reprise::results {

namespace fs = std::filesystem;

namespace {

// The folder that REPRISE_SHARE_DIR names; nullopt if it is not set.
std::optional<fs::path> named_data_dir() {
  const char* named = std::getenv("REPRISE_SHARE_DIR");
  if (named == nullptr || *named == '\0') return std::nullopt;
  return named;
}

fs::path wanted_data_dir() {
  return named_data_dir().value_or(program_prefix() / "share" / "reprise");
}

}  // namespace

std::optional<fs::path> find_data_dir() {
  const fs::path folder = wanted_data_dir();
  std::error_code error;
  if (!fs::is_directory(folder / "experiments", error)) return std::nullopt;
  return fs::canonical(folder);
}

fs::path data_dir() {
  if (std::optional<fs::path> found = find_data_dir()) return *found;
  const std::string folder = wanted_data_dir().string();
  if (named_data_dir())
    raise(
        "REPRISE_SHARE_DIR is {}, which has no folder experiments. Set it to the folder "
        "share/reprise of an installation or to a source tree, or unset it.",
        folder);
  raise(
      "the program's own experiments, models and plots are not in {}. Install the program with "
      "them, or name another folder share/reprise or a source tree in REPRISE_SHARE_DIR.",
      folder);
}

}  // namespace reprise::results
