// The parts that a data set's own files make: what is asked is what was published to be asked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "workloads/sentences/split.h"

namespace reprise::workloads::sentences {

enum class FileRole : uint8_t { kAny, kTraining, kDevelopment, kTest };

// As a word of the file's name says, whatever its case: "train"; "dev", "trial", "valid" or
// "validation"; "test". kAny where none of them is in it. ("sts-dev.csv", "SICK_trial.txt")
FileRole role_of(const std::filesystem::path& file);

// Which of a data set's files are asked: those of tests, or where there is none those of
// development. None where there is no file of training beside them: then the files say nothing
// about parts.
std::vector<bool> asked_files(std::span<const FileRole> files);

// A part "queries" of the items that `is_asked` marks, as it came; and the others, cut into
// `shares` by split_by_text(), but for those that have a text in common with a query, which are in
// no part. Queries come last. `is_asked` has as many as there are items (CHECK).
std::vector<Split> split_as_published(size_t items, const TextsOf& texts_of,
                                      const std::vector<bool>& is_asked,
                                      std::span<const SplitShare> shares, uint64_t seed);

}  // namespace reprise::workloads::sentences
