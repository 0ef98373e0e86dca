// The folders of data sets and checkpoints that do not come with the program.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace reprise {

// The folders to search, in order: the folder that REPRISE_DATA names, if it is set, then
// cache_folder(). They need not exist. `reprise data get` writes into the first.
std::vector<std::filesystem::path> data_folders();

// Returns the file or folder of this relative path in the first data folder that has it. Empty if
// none has it, or if `name` is empty or absolute.
std::filesystem::path find_data(const std::string& name);

}  // namespace reprise
