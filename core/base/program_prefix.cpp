#include "core/base/program_prefix.h"

#include "core/base/error.h"

namespace reprise {

std::filesystem::path program_prefix() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error)
    raise(
        "the program cannot tell where its own files are: /proc/self/exe cannot be read: {}. Mount "
        "/proc.",
        error.message());
  return program.parent_path().parent_path();
}

}  // namespace reprise
