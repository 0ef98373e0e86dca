// A folder for files, such as those of modules, for as long as something is measured with them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace reprise::experiments {

// Of its own in the system's folder for temporary files, named after its content, removed with its
// last user. Throws Error naming it where it cannot be made.
[[nodiscard]] std::shared_ptr<const std::filesystem::path> make_module_folder(
    const std::string& content = "modules");

}  // namespace reprise::experiments
