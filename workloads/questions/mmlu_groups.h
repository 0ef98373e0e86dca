// MMLU's 57 subjects in the 17 groups that its authors score together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/questions/item.h"

namespace reprise::workloads::questions {

// "biology", "business", ..., sorted.
std::span<const std::string_view> mmlu_groups();

// The group of a subject as files name it ("college_biology"). Throws Error for another name, with
// the nearest.
std::string_view mmlu_group_of(std::string_view subject);

// "anatomy" of "test/anatomy_test.csv". Throws Error for a file that is not named SUBJECT_test.csv.
std::string mmlu_subject_of(const std::filesystem::path& file);

// load_mmlu() of every SUBJECT_test.csv whose subject is of the group, or of all groups for "all",
// by the subjects' names; the items' task is their group. The files stand in `folder` or in "test"
// below it. Throws Error for a group that is none, for a folder without a file of it, and as
// load_mmlu() and mmlu_group_of() do.
std::vector<Item> load_mmlu_group(const std::filesystem::path& folder, std::string_view group,
                                  int64_t shots = 5);

}  // namespace reprise::workloads::questions
