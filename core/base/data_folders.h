// The folders of data sets and checkpoints that do not come with the program.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace reprise {

// Returns the folders to search, in this order: the folder that REPRISE_DATA names, if it is set,
// then cache_folder(). They need not exist. `reprise data get` writes into the first folder.
std::vector<std::filesystem::path> data_folders();

// `name` is a relative path. Returns the file or folder with this path in the first data folder
// that contains it. Returns an empty path if no data folder contains it, or if `name` is empty or
// absolute.
std::filesystem::path find_data(const std::string& name);

}  // namespace reprise
