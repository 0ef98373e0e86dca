#undef _FORTIFY_SOURCE  // with it, fcntl.h defines open() itself
#include "tests/simulation/disk.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <fstream>
#include <vector>

namespace reprise::simulation {
namespace {

Disk* armed = nullptr;

bool is_file(int file) {
  struct stat facts {};
  return ::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
}

// Sets a file's time to the next of a counter that begins in 2001.
int set_time(int folder, const char* path, int flags) {
  static time_t seconds = 1'000'000'000;
  const timespec now = {.tv_sec = ++seconds, .tv_nsec = 0};
  const timespec times[2] = {now, now};
  return static_cast<int>(::syscall(SYS_utimensat, folder, path, times, flags));
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
  is_cut_ = cuts_;
  ++failures_;
  return true;
}

// A torn write keeps a random share of its bytes. A share is drawn, so that later draws do not
// depend on `count`.
size_t Disk::let_through(size_t count) {
  const bool was_cut = is_cut_;
  if (!fails()) return count;
  if (was_cut) return 0;
  const auto permille = static_cast<size_t>(random_.pick(1, 999));
  const bool is_torn = cuts_ || random_.one_in(2);
  if (!is_torn || count < 2) return 0;
  fails_next_ = true;
  return std::clamp<size_t>(count * permille / 1000, 1, count - 1);
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
  constexpr int32_t kMagic = 8;  // with another digit there, the file is of a newer program
  if (bytes <= kMagic) return false;
  const int32_t place = random.pick(kMagic, bytes - 1);
  // Replaces the file by a copy, so that whoever has mapped the old file still reads the old
  // content.
  std::ifstream old(path, std::ios::binary);
  std::vector<char> text{std::istreambuf_iterator<char>(old), {}};
  if (random.one_in(3))
    text.resize(static_cast<size_t>(place));
  else
    text[static_cast<size_t>(place)] =
        static_cast<char>(text[static_cast<size_t>(place)] ^ (1 << random.pick(0, 7)));
  const auto time = std::filesystem::last_write_time(path);
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary).write(text.data(), std::ssize(text));
  std::filesystem::last_write_time(path, time);
  return true;
}

}  // namespace reprise::simulation

extern "C" {

ssize_t write(int file, const void* bytes, size_t count) {
  using namespace reprise::simulation;
  if (armed == nullptr || !is_file(file)) return ::syscall(SYS_write, file, bytes, count);
  const size_t part = armed->let_through(count);
  if (part > 0 || count == 0) return ::syscall(SYS_write, file, bytes, part);
  errno = armed->error();
  return -1;
}

int fsync(int file) {
  using namespace reprise::simulation;
  if (fails()) return -1;
  if (armed != nullptr && is_file(file)) set_time(file, nullptr, 0);
  return 0;
}

int utimensat(int folder, const char* path, const timespec times[2], int flags) noexcept {
  using namespace reprise::simulation;
  if (armed != nullptr && times == nullptr) return set_time(folder, path, flags);
  return static_cast<int>(::syscall(SYS_utimensat, folder, path, times, flags));
}

int unlink(const char* path) noexcept {
  if (reprise::simulation::armed != nullptr && reprise::simulation::armed->is_cut()) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_unlink, path));
}

int ftruncate(int file, off_t bytes) noexcept {
  if (reprise::simulation::fails()) return -1;
  return static_cast<int>(::syscall(SYS_ftruncate, file, bytes));
}

int rename(const char* from, const char* to) noexcept {
  if (reprise::simulation::fails()) return -1;
  return static_cast<int>(::syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to));
}

int open(const char* path, int flags, ...) {
  if ((flags & O_EXCL) != 0 && reprise::simulation::fails()) return -1;
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list more;
    va_start(more, flags);
    mode = va_arg(more, mode_t);
    va_end(more);
  }
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
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
