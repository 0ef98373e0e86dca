// The input of `reprise plot`, `export` and `report`: a results folder, or one file of records.
#pragma once

#include <filesystem>
#include <string>

#include "results/folder.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace reprise::app {

// Adds the argument RESULTS for commands that take one results folder or file. The argument is read
// into `path`, which must outlive the command line.
void add_results_argument(CLI::App& command, std::string& path);

// Reads a results folder, or a file of records. For a file, the manifest is made from the shipped
// experiment that the records name, or else from the records alone; if the caller `draws` figures,
// a note says which. Throws Error as results::read_folder(), for a file without records, and for
// records of several experiments.
[[nodiscard]] results::ResultsFolder read_results(const std::filesystem::path& path, bool draws);

// The default path of an output that is made from `results`. For a results folder it is `name` in
// that folder. For a file STEM.jsonl or STEM.jsonl.gz it is STEM-`name` in the file's folder.
[[nodiscard]] std::filesystem::path place_of(const std::filesystem::path& results,
                                             const std::string& name);

}  // namespace reprise::app
