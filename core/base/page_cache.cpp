#include "core/base/page_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "core/base/error.h"
#include "core/base/mapped_file.h"

namespace reprise {
namespace {

class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& path)
      : descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor < 0) raise("cannot open {}: {}", path.string(), std::strerror(errno));
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { ::close(descriptor); }

  const int descriptor;
};

}  // namespace

int64_t drop_from_page_cache(const std::filesystem::path& path, int64_t offset_bytes,
                             int64_t bytes) {
  {
    const OpenFile file(path);
    ::fsync(file.descriptor);  // since the system drops only pages that are not changed
    ::posix_fadvise(file.descriptor, offset_bytes, bytes, POSIX_FADV_DONTNEED);
  }
  const MappedFile map(path);
  const auto begin = static_cast<size_t>(offset_bytes), count = static_cast<size_t>(bytes);
  REPRISE_CHECK(begin <= map.bytes().size() && count <= map.bytes().size() - begin,
                "[{}, +{}) of {} bytes", begin, count, map.bytes().size());
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((count + page - 1) / page);
  if (pages.empty()) return 0;
  if (::mincore(const_cast<std::byte*>(map.bytes().data()) + begin, count, pages.data()) != 0)
    raise("cannot tell what of {} is in memory: {}", path.string(), std::strerror(errno));
  return std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1) != 0; }) *
         static_cast<int64_t>(page);
}

int64_t drop_from_page_cache(const std::filesystem::path& path) {
  const int64_t bytes = std::ssize(MappedFile(path).bytes());
  return drop_from_page_cache(path, 0, bytes);
}

int64_t read_through(const std::filesystem::path& path) {
  const OpenFile file(path);
  ::posix_fadvise(file.descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
  std::vector<char> buffer(size_t{1} << 20);
  int64_t bytes = 0;
  for (;;) {
    const ssize_t count = ::read(file.descriptor, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) raise("cannot read {}: {}", path.string(), std::strerror(errno));
    if (count == 0) return bytes;
    bytes += count;
  }
}

}  // namespace reprise
