#include "core/device/buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/base/error.h"
#include "core/device/memory.h"

namespace reprise {
namespace {

std::atomic<int64_t> g_live_bytes{0};
std::atomic<int64_t> g_peak_bytes{0};

void account(int64_t change) {
  const int64_t live = g_live_bytes.fetch_add(change) + change;
  int64_t peak = g_peak_bytes.load();
  while (live > peak && !g_peak_bytes.compare_exchange_weak(peak, live)) {
  }
}

constexpr size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

AlignedBuffer::AlignedBuffer(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  if (bytes > PTRDIFF_MAX / 2) refuse_allocation(bytes, ENOMEM);
  if (bytes < kHugePageBytes) {
    const size_t rounded = round_up(bytes, kAlignment);
    data_ = std::aligned_alloc(kAlignment, rounded);
    if (data_ == nullptr) refuse_allocation(bytes, ENOMEM);
    std::memset(data_, 0, rounded);
  } else {
    // Linux overcommits: a mapping larger than the memory succeeds, and touching its pages then
    // kills the process. So the available memory is checked first.
    require_available(bytes);
    // Maps one huge page more than needed and gives the unaligned ends back. The remainder behind
    // the last whole huge page stays on small pages: rounding it up would cost about 1 MB a matrix.
    const size_t wanted = round_up(bytes, static_cast<size_t>(getpagesize()));
    void* raw = mmap(nullptr, wanted + kHugePageBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED) refuse_allocation(bytes, errno);
    const auto start = reinterpret_cast<uintptr_t>(raw);
    const size_t before = round_up(start, kHugePageBytes) - start;
    char* aligned = static_cast<char*>(raw) + before;
    if (before > 0) munmap(raw, before);
    munmap(aligned + wanted, kHugePageBytes - before);
    data_ = aligned;
    mapped_bytes_ = wanted;
    madvise(data_, wanted, MADV_HUGEPAGE);  // without huge pages the memory is slower, not wrong
  }
  account(static_cast<int64_t>(bytes_));
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      mapped_bytes_(std::exchange(other.mapped_bytes_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  if (this != &other) {
    release();
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    mapped_bytes_ = std::exchange(other.mapped_bytes_, 0);
  }
  return *this;
}

AlignedBuffer::~AlignedBuffer() { release(); }

void AlignedBuffer::release() noexcept {
  if (data_ == nullptr) return;
  if (mapped_bytes_ > 0) {
    munmap(data_, mapped_bytes_);
  } else {
    std::free(data_);
  }
  account(-static_cast<int64_t>(bytes_));
  data_ = nullptr;
  bytes_ = mapped_bytes_ = 0;
}

int64_t AlignedBuffer::live_bytes() { return g_live_bytes.load(); }
int64_t AlignedBuffer::peak_bytes() { return g_peak_bytes.load(); }
void AlignedBuffer::reset_peak() { g_peak_bytes.store(g_live_bytes.load()); }

Buffer::Buffer(std::shared_ptr<DeviceRuntime> runtime, size_t bytes) {
  if (runtime == nullptr) {
    host_ = AlignedBuffer(bytes);
    return;
  }
  data_ = runtime->allocate(bytes);
  bytes_ = bytes;
  runtime_ = std::move(runtime);
}

Buffer::Buffer(Buffer&& other) noexcept
    : host_(std::move(other.host_)),
      runtime_(std::move(other.runtime_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  Buffer moved(std::move(other));
  std::swap(host_, moved.host_);
  std::swap(runtime_, moved.runtime_);
  std::swap(data_, moved.data_);
  std::swap(bytes_, moved.bytes_);
  return *this;
}

void Buffer::write(size_t first, const void* host, size_t bytes) {
  REPRISE_CHECK(first + bytes <= this->bytes(), "{} bytes from {} on of {}", bytes, first,
                this->bytes());
  if (bytes == 0) return;  // `host` may then be null, which copies do not accept
  if (runtime_ != nullptr) return runtime_->copy_in(as<std::byte>() + first, host, bytes);
  std::memcpy(as<std::byte>() + first, host, bytes);
}

Buffer::~Buffer() {
  if (runtime_ != nullptr) runtime_->release(data_, bytes_);
}

}  // namespace reprise
