// A folder for files that nobody needs once they have been used.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace reprise {

// Makes a folder in the system's folder for temporary files; its name begins with "reprise-" and
// `content`. It is removed with its content when the last copy of the returned pointer dies. Throws
// Error naming it if it cannot be made.
[[nodiscard]] std::shared_ptr<const std::filesystem::path> make_temporary_folder(
    const std::string& content);

}  // namespace reprise
