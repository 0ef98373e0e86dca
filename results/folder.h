// What a results folder holds, read as a file from anywhere is read: checked as a whole, once, for
// the table and the figures.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace reprise::results {

struct ResultsFolder {
  std::string source;         // the folder, or the file of records
  Json run;                   // as checked_manifest() gives it
  std::vector<Json> records;  // sound ones, each point once
  std::vector<Json> skipped;  // as read_skipped() gives them
  int64_t torn_bytes = 0;     // as read_record_files() gives them
};

// Throws Error naming file, key, what was found and what is accepted; where there is no record,
// with the remedy. Nothing in the folder is changed: it may be read-only.
[[nodiscard]] ResultsFolder read_folder(const std::filesystem::path& dir);

// What tells a point from the others of a sweep over these axes ({axis: [values]}), whatever
// repetitions, threads or seeds it was measured with. `requested` are a record's settings.
[[nodiscard]] std::string point_key(const Json& requested, const Json& axes);

// Points that were planned and are neither measured nor skipped, of one place of the sweep.
struct MissingPoints {
  std::string label;                 // "bf16 batch=8": model, dtype, and what takes several values
  std::vector<std::string> methods;  // "paged", "chunk_attention {"reuse_prefill":true}"
};
[[nodiscard]] std::vector<MissingPoints> missing_points(const ResultsFolder& folder);

}  // namespace reprise::results
