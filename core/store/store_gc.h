// Making a segment store's folder smaller, while others may use it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/store/segment_file.h"

namespace reprise::kv {

// What dead writers have left goes in any case. Segments that `model` and `schema` describe may go:
// those that were not used for `unused_s`, then those unused longest, until all segments of the
// folder take at most `budget_bytes`; where neither is given all that `model` and `schema`
// describe, if they describe any.
struct GcOptions {
  std::optional<int64_t> budget_bytes;
  std::optional<int64_t> unused_s;
  std::string model, schema;     // "": of any
  bool removes_damaged = false;  // reads every file
  bool is_dry_run = false;       // says what would go, and touches nothing
};

struct GcReport {
  struct Removed {
    std::filesystem::path path;
    int64_t bytes = 0;
    std::string reason;  // "unused for 3 days", "over the budget", "its writer has died", ...
  };
  std::vector<Removed> removed;
  int64_t kept_segments = 0, kept_bytes = 0;
  std::vector<std::string> damaged;  // sentences about files that were left alone
};

// Whoever has mapped a file that goes can read it to the end. Files of a newer format stay. Takes
// the folder's lock, and so waits for writers; a dry run does not, and tells of files under way as
// well. Throws Error where the folder is of a newer format, or refuses.
GcReport collect_garbage(const std::filesystem::path& folder, const GcOptions& options,
                         int64_t now_ns);

}  // namespace reprise::kv
