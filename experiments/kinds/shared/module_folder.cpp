#include "experiments/kinds/shared/module_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/base/error.h"

namespace reprise::experiments {

std::shared_ptr<const std::filesystem::path> make_module_folder(const std::string& content) {
  std::string name =
      (std::filesystem::temp_directory_path() / ("reprise-" + content + "-XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr)
    raise("cannot make a folder {} for {}: {}; set TMPDIR", name, content, std::strerror(errno));
  return {new std::filesystem::path(name), [](const std::filesystem::path* path) {
            std::error_code ignored;
            std::filesystem::remove_all(*path, ignored);
            delete path;
          }};
}

}  // namespace reprise::experiments
