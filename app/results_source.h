// What `reprise plot` and `reprise report` are given: a folder of results, or one file of records.
#pragma once

#include <filesystem>
#include <string>

#include "results/folder.h"

namespace reprise::app {

// The folder, or the file of records with the manifest that the shipped experiment of its name, or
// the records themselves, make up; which of them is said in a note. Throws Error as
// results::read_folder(), and for a file that holds no record, or records of several experiments.
[[nodiscard]] results::ResultsFolder read_results(const std::filesystem::path& path);

// Where what is made of results stands by default: `name` in the folder, STEM-`name` beside a file
// STEM.jsonl or STEM.jsonl.gz.
[[nodiscard]] std::filesystem::path place_of(const std::filesystem::path& results,
                                             const std::string& name);

}  // namespace reprise::app
