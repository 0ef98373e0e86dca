// MMLU's 57 subjects and the 17 groups in which its authors score them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/questions/item.h"
#include "workloads/questions/mmlu.h"

namespace reprise::workloads::questions {

struct MmluSubject {
  std::string_view name;   // as in file names: "college_biology"
  std::string_view group;  // of categories.py of hendrycks/test, with _ for spaces
  int64_t test_questions = 0;
};
// All subjects, in the order of RelayAttention's program (_scripts/mllu_bench.py of
// rayleizhu/vllm-ra).
std::span<const MmluSubject> mmlu_subjects();

// The groups, sorted: "biology", "business", ...
std::span<const std::string_view> mmlu_groups();

// Returns the group of a subject. Throws Error for an unknown subject, with the nearest one.
std::string_view mmlu_group_of(std::string_view subject);

// Calls load_mmlu() for every file of options.split (see find_mmlu_files()) whose subject is in
// `group`, sorted by subject. "all" stands for all groups. Item::task is the subject's group.
// Throws Error for an unknown group, for a folder without a subject of the group, and as
// load_mmlu(), find_mmlu_files() and mmlu_group_of() do.
std::vector<Item> load_mmlu_group(const std::filesystem::path& folder, std::string_view group,
                                  const MmluOptions& options = {});

}  // namespace reprise::workloads::questions
