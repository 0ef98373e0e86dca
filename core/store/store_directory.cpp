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
#include "core/base/write_all.h"

namespace reprise::kv {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFormatFile = "store.json";
constexpr const char* kLockFile = "store.lock";
constexpr std::string_view kExtension = ".segment";

// True for a name that file_name_of() can return.
bool is_segment_name(const fs::path& path) {
  constexpr size_t kDigits = 32;
  const std::string stem = path.stem().string();
  return path.extension() == kExtension && stem.size() == kDigits &&
         stem.find_first_not_of("0123456789abcdef") == std::string::npos;
}

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

std::string check_store_format(const fs::path& folder) {
  const fs::path path = folder / kFormatFile;
  std::error_code error;
  if (!fs::exists(path, error)) return "";
  int64_t format = 0;
  try {
    const Value json = read_json(path);
    format = JsonObject(json, path.string()).integer_in("format", 1, INT64_MAX);
  } catch (const Error& fault) {
    return fmt::format("{}. It is written anew with the next segment.", fault.what());
  }
  if (format > kSegmentFormat)
    throw NewerFormatError(fmt::format(
        "{} was made by a newer version: it is of format {}, and this version reads formats 1 to "
        "{}. Use that version, or another folder.",
        folder.string(), format, kSegmentFormat));
  return "";
}

void mark_store_format(const fs::path& folder) {
  const fs::path path = folder / kFormatFile;
  std::error_code error;
  if (fs::exists(path, error) && check_store_format(folder).empty()) return;
  AtomicFile file(path);
  file.write(json_text(Fields{{"format", kSegmentFormat}}) + "\n");
  file.commit();
}

bool is_store(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / kFormatFile, error) || fs::exists(folder / kLockFile, error);
}

StoreLock::StoreLock(const fs::path& folder) {
  const fs::path path = folder / kLockFile;
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0)
    raise("cannot write to the segment store's folder: {}: {}. {}", path.string(),
          std::strerror(errno), write_remedy(errno, "Name a folder that you may write to."));
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
    const bool is_segment = is_segment_name(entry.path());
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
  std::error_code ignored;  // the file may have been removed by another process
  for (const StoreFile& file : listing.unfinished) fs::remove(file.path, ignored);
}

std::optional<SegmentFile> open_if_there(const fs::path& file) {
  while (const std::optional<FileStamp> before = stamp_of(file)) {
    try {
      return SegmentFile(file, Verify::kHeader);
    } catch (const Error&) {
      if (before == stamp_of(file)) throw;  // otherwise the file was replaced or removed meanwhile
    }
  }
  return std::nullopt;
}

void require_name_of(const SegmentKey& key, const fs::path& file) {
  if (file.filename() != file_name_of(key))
    raise("{} does not carry its segment's name. Remove it; its states can be computed again.",
          file.string());
}

void mark_use(const fs::path& file) { ::utimensat(AT_FDCWD, file.c_str(), nullptr, 0); }

}  // namespace reprise::kv
