// Tells whether files of a folder can leave memory. In a file system that lies in memory they
// cannot.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/page_cache.h"

namespace reprise {

// To find out, writes a file "reprise_cold_disk" into the folder, and removes it.
inline bool has_cold_disk(const std::filesystem::path& folder) {
  const auto file = folder / "reprise_cold_disk";
  std::ofstream(file) << std::string(100'000, 'x');
  const bool is_cold = drop_from_page_cache(file) == 0;
  std::filesystem::remove(file);
  return is_cold;
}

}  // namespace reprise
