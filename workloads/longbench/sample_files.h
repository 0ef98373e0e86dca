// Loads samples from any file a user has: an official file, a folder of them, or the files of the
// sets from which LongBench was made.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "workloads/longbench/samples.h"

namespace reprise::workloads::longbench {

// Loads one file in any of the forms of samples.h and question_sets.h; the file's first entry
// decides which. Throws Error as the loaders of these forms do, and Error naming the file if it has
// no entry.
std::vector<Sample> load_any(const std::filesystem::path& file);

// Returns the official files of a folder by dataset: NAME.jsonl, or NAME_e.jsonl (LongBench-E) if
// that is missing. Throws Error for a folder without any.
std::map<std::string, std::filesystem::path> dataset_files(const std::filesystem::path& folder);

}  // namespace reprise::workloads::longbench
