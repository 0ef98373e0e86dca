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
  const char* named = std::getenv("TMPDIR");
  const std::filesystem::path folder = named == nullptr || *named == '\0' ? "/tmp" : named;
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return folder;
  raise("the folder for temporary files, {}, cannot be used ({}). Set TMPDIR to one that is there.",
        folder.string(), error ? error.message() : "it is no folder");
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
