#include "tests/simulation/disk.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <vector>

namespace reprise::simulation {
namespace {

Disk* armed = nullptr;

bool is_file(int file) {
  struct stat facts {};
  return ::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
}

// True if the operation fails; errno then says why.
bool fails() {
  if (armed == nullptr || !armed->fails()) return false;
  errno = armed->error();
  return true;
}

}  // namespace

Disk::Disk(uint64_t seed) : random_(seed) { armed = this; }
Disk::~Disk() { armed = nullptr; }

void Disk::arm(int32_t one_in, bool cuts) {
  one_in_ = one_in;
  cuts_ = cuts;
  fails_next_ = false;
}

bool Disk::fails() {
  if (is_cut_) return true;
  if (!fails_next_ && (one_in_ == 0 || !random_.one_in(one_in_))) return false;
  fails_next_ = false;
  ++failures_;
  return true;
}

size_t Disk::part_of(size_t count) {
  if (is_cut_ || count < 2 || !random_.one_in(cuts_ ? 1 : 2)) return 0;
  is_cut_ = cuts_;
  fails_next_ = true;
  return static_cast<size_t>(random_.bits() % count);
}

int Disk::error() { return random_.one_in(2) ? ENOSPC : EIO; }

bool damage_a_file(const std::filesystem::path& folder, const char* extension, Random& random) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().extension() == extension)
      files.push_back(entry.path());
  if (files.empty()) return false;
  std::sort(files.begin(), files.end());  // folders list them in no order
  const std::filesystem::path& path = random.of(std::span<const std::filesystem::path>(files));
  const auto bytes = static_cast<int32_t>(std::filesystem::file_size(path));
  if (bytes == 0) return false;
  const int32_t place = random.pick(0, bytes - 1);
  // A copy in its place: who has mapped the file goes on reading what it was.
  std::ifstream old(path, std::ios::binary);
  std::vector<char> text{std::istreambuf_iterator<char>(old), {}};
  if (random.one_in(3))
    text.resize(static_cast<size_t>(place));
  else
    text[static_cast<size_t>(place)] =
        static_cast<char>(text[static_cast<size_t>(place)] ^ (1 << random.pick(0, 7)));
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary).write(text.data(), std::ssize(text));
  return true;
}

}  // namespace reprise::simulation

extern "C" {

ssize_t write(int file, const void* bytes, size_t count) {
  using namespace reprise::simulation;
  if (armed == nullptr || !is_file(file) || !fails())
    return ::syscall(SYS_write, file, bytes, count);
  const int error = errno;
  const size_t part = armed->part_of(count);
  if (part > 0) return ::syscall(SYS_write, file, bytes, part);
  errno = error;
  return -1;
}

int fsync(int /*file*/) { return reprise::simulation::fails() ? -1 : 0; }

int ftruncate(int file, off_t bytes) noexcept {
  if (reprise::simulation::fails()) return -1;
  return static_cast<int>(::syscall(SYS_ftruncate, file, bytes));
}

int rename(const char* from, const char* to) noexcept {
  if (reprise::simulation::fails()) return -1;
  return static_cast<int>(::syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to));
}

int mkostemps(char* name, int suffix, int flags) {
  if (reprise::simulation::fails()) return -1;
  static const auto real =
      reinterpret_cast<int (*)(char*, int, int)>(::dlsym(RTLD_NEXT, "mkostemps"));
  return real(name, suffix, flags);
}

void* mmap(void* address, size_t bytes, int protection, int flags, int file,
           off_t offset) noexcept {
  if (file >= 0 && reprise::simulation::fails()) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return reinterpret_cast<void*>(
      ::syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}

}  // extern "C"
