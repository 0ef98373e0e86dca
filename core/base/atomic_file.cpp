#include "core/base/atomic_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/base/write_all.h"

namespace reprise {
namespace {

constexpr std::string_view kSuffix = ".unfinished";

[[noreturn]] void raise_errno(const char* what, const std::filesystem::path& path) {
  const int error = errno;
  raise("{} {} failed: {}. {}", what, path.string(), std::strerror(error), write_remedy(error));
}

// Flushes the folder of `path` to the disk, so that the rename is on the disk too.
void flush_folder_of(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;  // some file systems refuse this; the rename is done anyway
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code ignored;
  if (std::filesystem::exists(path_, ignored) &&
      !std::filesystem::is_regular_file(path_, ignored)) {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    std::string beside = path_.string() + ".XXXXXX" + std::string(kSuffix);
    file_ = ::mkostemps(beside.data(), static_cast<int>(kSuffix.size()), O_CLOEXEC);
    beside_ = beside;
  }
  if (file_ < 0) raise_errno("writing", path_);
  if (!beside_.empty()) ::fchmod(file_, 0644);
}

AtomicFile::~AtomicFile() {
  if (file_ < 0) return;
  ::close(file_);
  if (!beside_.empty()) ::unlink(beside_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  REPRISE_CHECK(file_ >= 0, "{} is committed already", path_.string());
  if (!write_all(file_, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}))
    raise_errno("writing", path_);
  bytes_written_ += bytes.size();
}

void AtomicFile::commit() {
  REPRISE_CHECK(file_ >= 0, "{} is committed already", path_.string());
  if (beside_.empty()) {
    if (::close(std::exchange(file_, -1)) != 0) raise_errno("writing", path_);
    return;
  }
  if (::fsync(file_) != 0 || ::rename(beside_.c_str(), path_.c_str()) != 0)
    raise_errno("writing", path_);
  ::close(std::exchange(file_, -1));
  flush_folder_of(path_);
}

bool AtomicFile::is_unfinished(const std::filesystem::path& path) {
  return path.filename().string().ends_with(kSuffix);
}

}  // namespace reprise
