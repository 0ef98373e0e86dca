// MMLU's 57 subjects and the 17 groups in which its authors score them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/questions/item.h"

namespace reprise::workloads::questions {

// The groups, sorted: "biology", "business", ...
std::span<const std::string_view> mmlu_groups();

// Returns the group of a subject as in file names ("college_biology"). Throws Error with the
// nearest name for an unknown one.
std::string_view mmlu_group_of(std::string_view subject);

// Returns e.g. "anatomy" for "test/anatomy_test.csv". Throws Error for a file not named
// SUBJECT_test.csv.
std::string mmlu_subject_of(const std::filesystem::path& file);

// Calls load_mmlu() for every SUBJECT_test.csv of the group (or of all groups, for "all") in
// `folder` or its subfolder "test", sorted by subject; the items' task is their group. Throws Error
// for an unknown group, for a folder without such a file, and as load_mmlu() and mmlu_group_of()
// do.
std::vector<Item> load_mmlu_group(const std::filesystem::path& folder, std::string_view group,
                                  int64_t shots = 5);

}  // namespace reprise::workloads::questions
