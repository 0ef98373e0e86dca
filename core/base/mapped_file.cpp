#include "core/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/error.h"

namespace reprise {

MappedFile::MappedFile(const std::filesystem::path& path) {
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) raise("cannot open {}: {}", path.string(), std::strerror(errno));
  struct stat facts {};
  const bool is_file = ::fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode);
  if (is_file && facts.st_size > 0) {
    size_ = static_cast<size_t>(facts.st_size);
    void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (mapped == MAP_FAILED) {
      const int code = errno;
      ::close(descriptor);
      raise("cannot map the {} bytes of {}: {}", size_, path.string(), std::strerror(code));
    }
    data_ = static_cast<const std::byte*>(mapped);
  }
  ::close(descriptor);
  if (!is_file) raise("{} is not a regular file", path.string());
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::advise(size_t offset_bytes, size_t count_bytes, int advice) const {
  REPRISE_CHECK(offset_bytes <= size_ && count_bytes <= size_ - offset_bytes, "[{}, +{}) of {}",
                offset_bytes, count_bytes, size_);
  if (count_bytes == 0) return;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t first = offset_bytes / page * page;
  // madvise() only gives advice: if the system ignores it, only memory or time is lost.
  ::madvise(const_cast<std::byte*>(data_) + first, offset_bytes + count_bytes - first, advice);
}

void MappedFile::release(size_t offset_bytes, size_t count_bytes) const {
  advise(offset_bytes, count_bytes, MADV_DONTNEED);
}

void MappedFile::fetch(size_t offset_bytes, size_t count_bytes) const {
  advise(offset_bytes, count_bytes, MADV_WILLNEED);
}

}  // namespace reprise
