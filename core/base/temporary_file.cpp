#include "core/base/temporary_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/base/error.h"
#include "core/base/write_all.h"

namespace reprise {
namespace {

[[noreturn]] void raise_unwritten(const std::string& path, int error) {
  raise("cannot write {}: {}. {}", path, std::strerror(error),
        write_remedy(error, "Set TMPDIR to a folder you may write to."));
}

}  // namespace

std::filesystem::path temporary_folder() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (!error) return folder;
  const char* named = std::getenv("TMPDIR");
  raise("the folder for temporary files, {}, cannot be used ({}). Set TMPDIR to one that is there.",
        named == nullptr ? "/tmp" : named, error.message());
}

TemporaryFile::TemporaryFile(std::string_view name, std::string_view bytes)
    : path_((temporary_folder() / fmt::format("{}-XXXXXX", name)).string()) {
  const int file = ::mkstemp(path_.data());
  if (file < 0) raise_unwritten(path_, errno);
  const bool is_written = write_all(file, bytes);
  const int reason = errno;
  ::close(file);
  if (is_written) return;
  ::unlink(path_.c_str());
  raise_unwritten(path_, reason);
}

TemporaryFile::~TemporaryFile() { ::unlink(path_.c_str()); }

}  // namespace reprise
