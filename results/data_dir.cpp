#include "results/data_dir.h"

namespace reprise::results {

namespace fs = std::filesystem;

fs::path data_dir() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path installed = program.parent_path().parent_path() / "share" / "reprise";
  if (!error && fs::is_directory(installed / "experiments", error)) return installed;
  return REPRISE_SOURCE_DIR;
}

}  // namespace reprise::results
