// Makes temporary folders that are removed after their last use.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace reprise {

// Makes a folder in temporary_folder() (temporary_file.h); its name begins with "reprise-" and
// `content`. The folder is removed with its files when the last copy of the returned pointer dies.
// Throws Error naming the folder if it cannot be made.
[[nodiscard]] std::shared_ptr<const std::filesystem::path> make_temporary_folder(
    const std::string& content);

}  // namespace reprise
