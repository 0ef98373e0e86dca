#include "core/base/file_stamp.h"

#include <sys/stat.h>

#include <chrono>

namespace reprise {

std::optional<FileStamp> stamp_of(const std::filesystem::path& file) {
  struct stat facts {};
  if (::stat(file.c_str(), &facts) != 0) return std::nullopt;
  return FileStamp{
      .device = facts.st_dev,
      .inode = facts.st_ino,
      .bytes = facts.st_size,
      .change_ns = int64_t{facts.st_ctim.tv_sec} * 1'000'000'000 + facts.st_ctim.tv_nsec};
}

bool is_settled(const FileStamp& stamp) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() - stamp.change_ns >
         1'000'000'000;
}

}  // namespace reprise
