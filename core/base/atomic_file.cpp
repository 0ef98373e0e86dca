#include "core/base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <system_error>
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

// Returns N for /dev/stdout (1), /dev/stderr (2), /dev/fd/N and /proc/self/fd/N.
std::optional<int> descriptor_of(const std::filesystem::path& path) {
  const std::string name = path.lexically_normal().string();
  if (name == "/dev/stdout") return STDOUT_FILENO;
  if (name == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!name.starts_with(folder)) continue;
    const char* end = name.data() + name.size();
    int number = 0;
    const auto [rest, error] = std::from_chars(name.data() + folder.size(), end, number);
    if (error == std::errc() && rest == end) return number;
  }
  return std::nullopt;
}

bool is_ours_or_roots(const std::filesystem::path& link) {
  struct stat facts {};
  return ::lstat(link.c_str(), &facts) == 0 && (facts.st_uid == ::geteuid() || facts.st_uid == 0);
}

// Follows the links at `path` one by one, also to a file that is not there yet. Stops at a
// descriptor's name, such as /dev/fd/3. Its link leads to the path of the open file; opened anew,
// the file would have another offset.
std::filesystem::path end_of_links(std::filesystem::path path) {
  constexpr int kMostLinks = 40;  // as in Linux
  for (int links = 0; links < kMostLinks && !descriptor_of(path); ++links) {
    if (!is_ours_or_roots(path)) break;
    std::error_code error;
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / target;  // an absolute target replaces the folder
  }
  return path;
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

AtomicFile::AtomicFile(std::filesystem::path path, Links links) : path_(std::move(path)) {
  std::filesystem::path end = links == Links::kFollow ? end_of_links(path_) : path_;
  std::error_code ignored;
  if (const std::optional<int> number = descriptor_of(end)) {
    file_ = ::fcntl(*number, F_DUPFD_CLOEXEC, 0);
  } else if (std::filesystem::exists(path_, ignored) &&
             !std::filesystem::is_regular_file(path_, ignored)) {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    path_ = std::move(end);
    create_beside();
  }
  if (file_ < 0) raise_errno("writing", path_);
}

// Creates the temporary file by open(), which obeys the umask; mkostemps() would give mode 0600.
void AtomicFile::create_beside() {
  struct stat replaced {};
  const bool replaces = ::lstat(path_.c_str(), &replaced) == 0 && S_ISREG(replaced.st_mode);
  mode_t mode = 0666;
  if (replaces) mode = replaced.st_mode & 0777;
  do {
    beside_ = fmt::format("{}.{:08x}{}", path_.string(), std::random_device{}(), kSuffix);
    file_ = ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  } while (file_ < 0 && errno == EEXIST);
  if (file_ >= 0 && replaces) ::fchmod(file_, mode);  // gives back the bits that the umask removed
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
