// The files of an MMLU folder: one per subject and split, named SUBJECT_SPLIT.csv.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::workloads::questions {

// "dev" (five worked examples a subject), "val" and "test".
std::vector<std::string> mmlu_splits();

struct MmluFile {
  std::string subject;
  std::filesystem::path path;
};

// Returns the files of a split, at least one, sorted by subject. `place` is one file, a folder of
// files, a folder with the subfolders "dev", "val" and "test", or one of these subfolders. Throws
// Error if the split is unknown, if `place` cannot be read, or if it has no file of the split; the
// message names the splits that it has.
std::vector<MmluFile> find_mmlu_files(const std::filesystem::path& place, std::string_view split);

// Returns e.g. "anatomy" for "test/anatomy_test.csv" and split "test". Throws Error for other
// names.
std::string mmlu_subject_of(const std::filesystem::path& file, std::string_view split);

// Returns the path of a subject's worked examples. If the folder of `file` is named after a split,
// they are in the folder "dev" beside that folder, else in the folder itself.
std::filesystem::path mmlu_examples_of(const std::filesystem::path& file, std::string_view subject);

}  // namespace reprise::workloads::questions
