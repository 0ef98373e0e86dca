#include "tests/cuda_on_cpu/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "core/base/error.h"

namespace cuda_on_cpu {
namespace {

constexpr size_t kAddresses = size_t{1} << 38;  // reserved, not used
constexpr size_t kArenaAlignment = 256;
constexpr size_t kPage = 4096;

uintptr_t arena_begin = 0;

// A signal handler may call write(), and few other functions.
void tell(int signal_number, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  if (arena_begin <= address && address < arena_begin + kAddresses) {
    constexpr char kText[] = "host code touches the memory of the CUDA device\n";
    static_cast<void>(!write(STDERR_FILENO, kText, sizeof kText - 1));
  }
  signal(signal_number, SIG_DFL);  // the access comes again, and ends the program
}

}  // namespace

Arena& Arena::all() {
  static Arena arena;
  return arena;
}

Arena::Arena() {
  void* memory =
      mmap(nullptr, kAddresses, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REPRISE_CHECK(memory != MAP_FAILED, "no addresses for the device's memory: {}",
                std::strerror(errno));
  begin_ = next_ = static_cast<char*>(memory);
  arena_begin = reinterpret_cast<uintptr_t>(memory);
  struct sigaction action {};
  action.sa_sigaction = tell;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
}

void* Arena::take(size_t bytes) {
  const size_t rounded = (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
  if (rounded > static_cast<size_t>(begin_ + kAddresses - next_)) return nullptr;
  void* data = next_;
  next_ += rounded;
  return data;
}

void Arena::drop(void* data, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first_page = (begin + kPage - 1) / kPage * kPage;
  const uintptr_t end_page = (begin + bytes) / kPage * kPage;
  if (first_page < end_page)
    madvise(reinterpret_cast<void*>(first_page), end_page - first_page, MADV_DONTNEED);
}

void Arena::open() {
  if (opened_++ == 0) REPRISE_CHECK(mprotect(begin_, kAddresses, PROT_READ | PROT_WRITE) == 0);
}

void Arena::close() {
  if (--opened_ == 0) REPRISE_CHECK(mprotect(begin_, kAddresses, PROT_NONE) == 0);
}

}  // namespace cuda_on_cpu
