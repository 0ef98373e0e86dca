// Splits a data set by its publishers' files: the sentences of the test files, or of the
// development files if there are no test files, become the queries.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "workloads/sentences/split.h"

namespace reprise::workloads::sentences {

enum class FileRole : uint8_t { kAny, kTraining, kDevelopment, kTest };

// Finds the role by a word in the file's name, in any case: "train"; "dev", "trial", "valid" or
// "validation"; "test" ("sts-dev.csv", "SICK_trial.txt"). kAny if the name has none of these words.
FileRole role_of(const std::filesystem::path& file);

// Marks the files that are queries: the test files, or the development files if there are none.
// Marks none if there is no training file, since the files then do not divide the data set.
std::vector<bool> asked_files(std::span<const FileRole> files);

// The items that `is_asked` marks become the last part, "queries". The other items are split into
// `shares`, by split_by_text() if there is a seed, else by split_in_order(); those that have a text
// in common with a query are left out. `is_asked` has one entry per item (CHECK).
std::vector<Split> split_as_published(size_t items, const TextsOf& texts_of,
                                      const std::vector<bool>& is_asked,
                                      std::span<const SplitShare> shares,
                                      std::optional<uint64_t> seed);

}  // namespace reprise::workloads::sentences
