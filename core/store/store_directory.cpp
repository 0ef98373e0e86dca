#include "core/store/store_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>

#include "core/base/json.h"

namespace reprise::kv {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFormatFile = "store.json";
constexpr const char* kLockFile = "store.lock";
constexpr std::string_view kExtension = ".segment";

// True for an unfinished file of a segment or of store.json.
bool is_ours_unfinished(const fs::path& path) {
  const std::string name = path.filename().string();
  return AtomicFile::is_unfinished(path) &&
         (name.find(std::string(kExtension) + ".") != std::string::npos ||
          name.starts_with(std::string(kFormatFile) + "."));
}

int64_t nanoseconds(const timespec& time) {
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

void sort_by_use(std::vector<StoreFile>& files) {
  std::sort(files.begin(), files.end(), [](const StoreFile& a, const StoreFile& b) {
    return std::tie(a.last_use_ns, a.path) < std::tie(b.last_use_ns, b.path);
  });
}

}  // namespace

void check_store_format(const fs::path& folder) {
  const fs::path path = folder / kFormatFile;
  std::error_code error;
  if (!fs::exists(path, error)) return;
  const Value json = read_json(path);
  JsonObject object(json, path.string());
  const int64_t format = object.integer_in("format", 1, INT64_MAX);
  if (format > kSegmentFormat)
    throw NewerFormatError(fmt::format(
        "{} was made by a newer version: it is of format {}, and this version reads formats 1 to "
        "{}. Use that version, or another folder.",
        folder.string(), format, kSegmentFormat));
}

void mark_store_format(const fs::path& folder) {
  const fs::path path = folder / kFormatFile;
  std::error_code error;
  if (fs::exists(path, error)) return;
  AtomicFile file(path);
  file.write(json_text(Fields{{"format", kSegmentFormat}}) + "\n");
  file.commit();
}

StoreLock::StoreLock(const fs::path& folder) {
  const fs::path path = folder / kLockFile;
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0)
    raise("cannot write to the segment store's folder: {}: {}", path.string(),
          std::strerror(errno));
  while (::flock(file_, LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    const int code = errno;
    ::close(file_);
    raise("cannot lock {}: {}. Use a folder on a file system that has locks.", path.string(),
          std::strerror(code));
  }
}

StoreLock::~StoreLock() { ::close(file_); }

StoreListing list_store(const fs::path& folder) {
  StoreListing listing;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const bool is_segment = entry.path().extension() == kExtension;
    if (!is_segment && !is_ours_unfinished(entry.path())) continue;
    struct stat facts {};
    if (::stat(entry.path().c_str(), &facts) != 0) continue;  // it was removed meanwhile
    (is_segment ? listing.segments : listing.unfinished)
        .push_back({.path = entry.path(),
                    .bytes = facts.st_size,
                    .last_use_ns = nanoseconds(facts.st_mtim)});
  }
  if (error)
    raise("cannot read the segment store's folder {}: {}", folder.string(), error.message());
  sort_by_use(listing.segments);
  sort_by_use(listing.unfinished);
  return listing;
}

void remove_unfinished(const StoreListing& listing) {
  std::error_code ignored;  // another process may have removed it
  for (const StoreFile& file : listing.unfinished) fs::remove(file.path, ignored);
}

std::optional<SegmentFile> open_if_there(const fs::path& file) {
  while (const std::optional<FileStamp> before = stamp_of(file)) {
    try {
      return SegmentFile(file, Verify::kHeader);
    } catch (const Error&) {
      if (before == stamp_of(file)) throw;  // otherwise it was replaced or removed meanwhile
    }
  }
  return std::nullopt;
}

void mark_use(const fs::path& file) { ::utimensat(AT_FDCWD, file.c_str(), nullptr, 0); }

}  // namespace reprise::kv
