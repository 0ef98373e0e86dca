// A library that is preloaded into the program and makes the n-th allocation, or the n-th write to
// a file, fail, counted from the beginning of main(). FAIL_ALLOCATION=n and FAIL_WRITE=n choose n.
//
// Allocations are C++'s operator new and the aligned and mapped memory of buffers. Writes are
// write(), fsync(), ftruncate() and rename() of regular files. The numbers of both are written to
// the file that FAIL_COUNTS names.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

std::atomic<bool> has_begun = false;
std::atomic<long> allocations = 0, writes = 0;
long failing_allocation = -1, failing_write = -1;

long number_of(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? -1 : std::atol(text);
}

bool fails(std::atomic<long>& count, long failing) { return has_begun && ++count == failing; }

bool allocation_fails() {
  if (!fails(allocations, failing_allocation)) return false;
  errno = ENOMEM;
  return true;
}

bool write_fails(int file) {
  struct stat facts {};
  if (!has_begun || ::fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
  if (!fails(writes, failing_write)) return false;
  errno = ENOSPC;
  return true;
}

void tell_counts() {
  has_begun = false;
  const char* path = std::getenv("FAIL_COUNTS");
  if (path == nullptr) return;
  if (std::FILE* file = std::fopen(path, "w")) {
    std::fprintf(file, "%ld %ld\n", allocations.load(), writes.load());
    std::fclose(file);
  }
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

void* allocate(size_t bytes) {
  if (!allocation_fails())
    if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

using Main = int (*)(int, char**, char**);
Main real_main;

int counted_main(int argc, char** argv, char** environment) {
  failing_allocation = number_of("FAIL_ALLOCATION");
  failing_write = number_of("FAIL_WRITE");
  std::atexit(tell_counts);
  has_begun = true;
  return real_main(argc, argv, environment);
}

}  // namespace

void* operator new(size_t bytes) { return allocate(bytes); }
void* operator new[](size_t bytes) { return allocate(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return allocation_fails() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
}
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
  return allocation_fails() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

extern "C" {

int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*loader_fini)(), void* stack_end) {
  real_main = main;
  using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  return next<Start>("__libc_start_main")(counted_main, argc, argv, init, fini, loader_fini,
                                          stack_end);
}

void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  if (allocation_fails()) return nullptr;
  static const auto real = next<void* (*)(size_t, size_t)>("aligned_alloc");
  return real(alignment, bytes);
}

int posix_memalign(void** memory, size_t alignment, size_t bytes) noexcept {
  if (allocation_fails()) return ENOMEM;
  static const auto real = next<int (*)(void**, size_t, size_t)>("posix_memalign");
  return real(memory, alignment, bytes);
}

void* mmap(void* address, size_t bytes, int protection, int flags, int file,
           off_t offset) noexcept {
  if (allocation_fails()) return MAP_FAILED;
  return reinterpret_cast<void*>(
      ::syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}

ssize_t write(int file, const void* bytes, size_t count) {
  if (write_fails(file)) return -1;
  return ::syscall(SYS_write, file, bytes, count);
}

int fsync(int file) {
  if (write_fails(file)) return -1;
  return static_cast<int>(::syscall(SYS_fsync, file));
}

int ftruncate(int file, off_t bytes) noexcept {
  if (write_fails(file)) return -1;
  return static_cast<int>(::syscall(SYS_ftruncate, file, bytes));
}

int rename(const char* from, const char* to) noexcept {
  if (fails(writes, failing_write)) {
    errno = ENOSPC;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to));
}

}  // extern "C"
