// A folder for the files of modules, for as long as something is measured with them.
#pragma once

#include <filesystem>
#include <memory>

namespace reprise::experiments {

// Of its own in the system's folder for temporary files, removed with its last user. Throws Error
// naming it where it cannot be made.
[[nodiscard]] std::shared_ptr<const std::filesystem::path> make_module_folder();

}  // namespace reprise::experiments
