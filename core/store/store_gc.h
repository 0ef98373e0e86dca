// Removes segments and left-over files from a segment store's folder, while other processes may use
// it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/store/segment_file.h"

namespace reprise::kv {

// Unfinished files of dead writers are always removed. Only segments of `model` and `schema` are
// removed: first those unused for `unused_s` seconds, then the least recently used ones until all
// segments of the folder take at most `budget_bytes`. If neither `unused_s` nor `budget_bytes` is
// set, all segments of `model` and `schema` are removed, unless `model` and `schema` are both "".
struct GcOptions {
  std::optional<int64_t> budget_bytes;
  std::optional<int64_t> unused_s;
  std::string model, schema;     // "" means any
  bool removes_damaged = false;  // true: removes damaged files too, for which it reads every file
  bool is_dry_run = false;       // true: only reports what would be removed
};

struct GcReport {
  struct Removed {
    std::filesystem::path path;
    int64_t bytes = 0;
    std::string reason;  // such as "unused for 86400 s" or "over the budget"
  };
  std::vector<Removed> removed;
  int64_t kept_segments = 0, kept_bytes = 0;
  std::vector<std::string> damaged;  // a sentence for each damaged file that was left alone
};

// Processes that have mapped a removed file can still read it. Files of a newer format stay. Takes
// the folder's lock, so it waits for writers. A dry run takes no lock, so it also reports files
// that are being written. Throws Error if the folder is of a newer format or cannot be read or
// changed.
GcReport collect_garbage(const std::filesystem::path& folder, const GcOptions& options,
                         int64_t now_ns);

}  // namespace reprise::kv
