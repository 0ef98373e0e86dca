#include "core/base/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/base/error.h"
#include "core/base/temporary_file.h"

namespace reprise {

std::shared_ptr<const std::filesystem::path> make_temporary_folder(const std::string& content) {
  std::string name = (temporary_folder() / ("reprise-" + content + "-XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr)
    raise("cannot make a folder {} for {}: {}; set TMPDIR", name, content, std::strerror(errno));
  return {new std::filesystem::path(name), [](const std::filesystem::path* path) {
            std::error_code ignored;
            std::filesystem::remove_all(*path, ignored);
            delete path;
          }};
}

}  // namespace reprise
