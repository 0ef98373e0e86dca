// Samples from whatever a user has: an official file, a folder of them, or the files of the sets
// that LongBench was made from.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "workloads/longbench/samples.h"

namespace reprise::workloads::longbench {

// The samples of one file in any of the forms of samples.h and question_sets.h; its first entry
// tells which. Throws Error as their loaders do, and naming the file where there is none.
std::vector<Sample> load_any(const std::filesystem::path& file);

// The official files of a folder by their datasets: NAME.jsonl, or NAME_e.jsonl (LongBench-E) where
// the first is not there. Throws Error for a folder without any.
std::map<std::string, std::filesystem::path> dataset_files(const std::filesystem::path& folder);

}  // namespace reprise::workloads::longbench
