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
};

// Throws Error naming file, key, what was found and what is accepted; where there is no record,
// with the remedy. Nothing in the folder is changed: it may be read-only.
[[nodiscard]] ResultsFolder read_folder(const std::filesystem::path& dir);

// Points that were planned and are neither measured nor skipped, of one place of the sweep.
struct MissingPoints {
  std::string label;                 // "bf16 batch=8": model, dtype, and what takes several values
  std::vector<std::string> methods;  // "paged", "chunk_attention {"reuse_prefill":true}"
};
[[nodiscard]] std::vector<MissingPoints> missing_points(const ResultsFolder& folder);

}  // namespace reprise::results
