// The input of `reprise plot`, `export` and `report`: a results folder, or one file of records.
#pragma once

#include <filesystem>
#include <string>

#include "results/folder.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace reprise::app {

// Adds the argument RESULTS of commands that take one, read into `path`, which must outlive the
// command line.
void add_results_argument(CLI::App& command, std::string& path);

// Reads a results folder, or a file of records. For a file, the manifest comes from the shipped
// experiment of the same name or else from the records; a note says which of the two. Throws Error
// as results::read_folder(), and for a file that holds no record or records of several experiments.
[[nodiscard]] results::ResultsFolder read_results(const std::filesystem::path& path);

// The default place of an output made from results: `name` in the folder, or STEM-`name` beside a
// file STEM.jsonl or STEM.jsonl.gz.
[[nodiscard]] std::filesystem::path place_of(const std::filesystem::path& results,
                                             const std::string& name);

}  // namespace reprise::app
