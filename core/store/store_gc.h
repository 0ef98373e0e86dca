// Removes segments and left-over files from a segment store's folder, while others may use it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/store/segment_file.h"

namespace reprise::kv {

// Files of writers that died are always removed. Of the segments of `model` and `schema`, those
// unused for `unused_s` are removed, then the least recently used ones until all segments of the
// folder take at most `budget_bytes`. Without `unused_s` and `budget_bytes`, all segments of
// `model` and `schema` are removed, unless both of these are "" too.
struct GcOptions {
  std::optional<int64_t> budget_bytes;
  std::optional<int64_t> unused_s;
  std::string model, schema;     // "": any
  bool removes_damaged = false;  // damaged files are removed too; reads every file
  bool is_dry_run = false;       // only reports what would be removed
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
// the folder's lock, so waits for writers; a dry run does not, and so also reports files that are
// being written. Throws Error if the folder is of a newer format or cannot be read or changed.
GcReport collect_garbage(const std::filesystem::path& folder, const GcOptions& options,
                         int64_t now_ns);

}  // namespace reprise::kv
