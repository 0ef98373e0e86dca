#include "core/device/cuda/memory_pool.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>

#include "core/device/cuda/check.h"
#include "core/device/memory.h"

namespace reprise::cuda {
namespace {

constexpr size_t kSmallest = 256;
constexpr size_t kLarge = size_t{2} << 20;

int64_t free_device_bytes() {
  size_t free_bytes = 0, all_bytes = 0;
  check_cuda(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo");
  return static_cast<int64_t>(free_bytes);
}

constexpr size_t rounded_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

double gib(int64_t bytes) { return static_cast<double>(bytes) / 0x1p30; }

}  // namespace

size_t size_class(size_t bytes) {
  if (bytes >= kLarge) return rounded_up(bytes, kLarge);
  if (bytes <= kSmallest) return kSmallest;
  // Each power of two is divided into four classes.
  const size_t unit = std::max(kSmallest, std::bit_floor(bytes - 1) / 4);
  return rounded_up(bytes, unit);
}

MemoryPool::~MemoryPool() {
  // Frees only the waiting blocks; blocks in use belong to their users. A failure here is ignored:
  // another call reports its cause.
  for (const auto& [bytes, data] : waiting_) static_cast<void>(cudaFree(data));
}

void* MemoryPool::take(size_t bytes) {
  if (bytes == 0) return nullptr;
  if (bytes > PTRDIFF_MAX / 2) refuse(bytes);
  const size_t rounded = size_class(bytes);
  void* data = nullptr;
  if (const auto found = waiting_.find(rounded); found != waiting_.end()) {
    data = found->second;
    waiting_.erase(found);
    waiting_bytes_ -= static_cast<int64_t>(rounded);
  } else {
    data = from_device(rounded);
    if (data == nullptr && !waiting_.empty()) {
      trim();
      data = from_device(rounded);
    }
    if (data == nullptr) refuse(bytes);
  }
  used_bytes_ += static_cast<int64_t>(rounded);
  peak_bytes_ = std::max(peak_bytes_, used_bytes_);
  return data;
}

void* MemoryPool::from_device(size_t rounded) {
  if (budget_bytes_ > 0 && held_bytes() + static_cast<int64_t>(rounded) > budget_bytes_)
    return nullptr;
  void* data = nullptr;
  const cudaError_t code = cudaMalloc(&data, rounded);
  if (code == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());  // clears the error for the next launch
    return nullptr;
  }
  check_cuda(code, "cudaMalloc");
  return data;
}

void MemoryPool::give(void* data, size_t bytes) noexcept {
  if (data == nullptr) return;
  const size_t rounded = size_class(bytes);
  used_bytes_ -= static_cast<int64_t>(rounded);
  waiting_bytes_ += static_cast<int64_t>(rounded);
  waiting_.emplace(rounded, data);
}

void MemoryPool::trim() {
  for (const auto& [bytes, data] : waiting_) check_cuda(cudaFree(data), "cudaFree");
  waiting_.clear();
  waiting_bytes_ = 0;
}

int64_t MemoryPool::available_bytes() const {
  const int64_t of_device = free_device_bytes() + waiting_bytes_;
  if (budget_bytes_ == 0) return of_device;
  return std::min(of_device, budget_bytes_ - used_bytes_);
}

void MemoryPool::refuse(size_t bytes) const {
  throw MemoryError(
      fmt::format(
          "the CUDA device has not {:.3f} GiB more: {:.3f} GiB are available{}, {:.3f} GiB "
          "are in use. Use a smaller model, batch or context, or a device with more memory",
          static_cast<double>(bytes) / 0x1p30, gib(available_bytes()),
          budget_bytes_ > 0 ? fmt::format(" of a budget of {:.3f}", gib(budget_bytes_)) : "",
          gib(used_bytes_)),
      static_cast<double>(bytes));
}

}  // namespace reprise::cuda
