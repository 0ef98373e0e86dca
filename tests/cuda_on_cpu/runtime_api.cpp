#include "tests/cuda_on_cpu/runtime_api.h"

#include <fmt/core.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tests/cuda_on_cpu/arena.h"
#include "tests/cuda_on_cpu/block.h"
#include "tests/cuda_on_cpu/buffers.h"
#include "tests/cuda_on_cpu/machine.h"
#include "tests/cuda_on_cpu/streams.h"

namespace cuda_on_cpu {

Machine& machine() {
  static Machine machine;
  return machine;
}

namespace {

constexpr int kRuntimeVersion = 13000;

// The start and size of each piece of page-locked memory.
std::map<const std::byte*, size_t>& host_buffers() {
  static std::map<const std::byte*, size_t> buffers;
  return buffers;
}

bool is_page_locked(const void* address) {
  const auto* at = static_cast<const std::byte*>(address);
  const auto above = host_buffers().upper_bound(at);
  if (above == host_buffers().begin()) return false;
  const auto& [start, bytes] = *std::prev(above);
  return at < start + bytes;
}

// The host buffers that cudaHostRegister() locked.
std::set<const std::byte*>& registered_buffers() {
  static std::set<const std::byte*> buffers;
  return buffers;
}

cudaError_t& last_error() {
  static cudaError_t error = cudaSuccess;
  return error;
}

cudaError_t failed(cudaError_t code) { return last_error() = code; }

void check_device_end(const void* address, size_t bytes, const char* call) {
  if (const auto finding = Buffers::all().check(address, bytes))
    throw Fault(finding->kind, fmt::format("{}: {} of {} bytes: {}", name_of(finding->kind), call,
                                           bytes, finding->text));
}

void check_host_end(const void* address, size_t bytes, const char* call) {
  if (Buffers::all().overlaps(address, bytes))
    throw Fault(FaultKind::kOutOfBounds,
                fmt::format("{}: {} of {} bytes: {} is the device's memory, not the host's",
                            name_of(FaultKind::kOutOfBounds), call, bytes, address));
}

void check_ends(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  (to_device ? check_device_end : check_host_end)(
      to, bytes, to_device ? "cudaMemcpy to the device" : "cudaMemcpy to the host");
  (from_device ? check_device_end : check_host_end)(
      from, bytes, from_device ? "cudaMemcpy from the device" : "cudaMemcpy from the host");
}

// Checks the ends again, because they may have been freed since the copy was enqueued.
void copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  check_ends(to, from, bytes, kind);
  const OpenMemory open;
  std::memcpy(to, from, bytes);
  finish_launches();
}

void fill(void* to, int value, size_t bytes) {
  check_device_end(to, bytes, "cudaMemset");
  const OpenMemory open;
  std::memset(to, value, bytes);
  finish_launches();
}

}  // namespace

Alive alive() {
  Alive all = alive_handles();
  all.buffers = Buffers::all().used();
  all.host_buffers = std::ssize(host_buffers());
  return all;
}

}  // namespace cuda_on_cpu

using namespace cuda_on_cpu;  // NOLINT: the API's functions are global, and theirs alone

const char* cudaGetErrorName(cudaError_t code) {
  switch (code) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    case cudaErrorHostMemoryAlreadyRegistered:
      return "cudaErrorHostMemoryAlreadyRegistered";
    case cudaErrorHostMemoryNotRegistered:
      return "cudaErrorHostMemoryNotRegistered";
  }
  return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t code) {
  switch (code) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorNotReady:
      return "device not ready";
    case cudaErrorHostMemoryAlreadyRegistered:
      return "part or all of the requested memory range is already mapped";
    case cudaErrorHostMemoryNotRegistered:
      return "pointer does not correspond to a registered memory region";
  }
  return "unrecognized error code";
}

cudaError_t cudaGetLastError() { return std::exchange(last_error(), cudaSuccess); }

cudaError_t cudaGetDeviceCount(int* devices) {
  *devices = 0;
  if (machine().driver_version < kRuntimeVersion) return failed(cudaErrorInsufficientDriver);
  if (machine().devices == 0) return failed(cudaErrorNoDevice);
  *devices = machine().devices;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int ordinal) {
  return ordinal < machine().devices ? cudaSuccess : failed(cudaErrorInvalidDevice);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int ordinal) {
  if (ordinal >= machine().devices) return failed(cudaErrorInvalidDevice);
  *properties = {.name = "NVIDIA H100 on a CPU",
                 .major = machine().major,
                 .minor = machine().minor,
                 .multiProcessorCount = 4,
                 .totalGlobalMem = machine().memory_bytes,
                 .l2CacheSize = machine().l2_bytes};
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int ordinal) {
  if (ordinal >= machine().devices) return failed(cudaErrorInvalidDevice);
  if (attribute != cudaDevAttrL2CacheSize) return failed(cudaErrorInvalidValue);
  *value = machine().l2_bytes;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = machine().driver_version;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = kRuntimeVersion;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  require_no_capture("cudaMalloc");
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (Buffers::all().used_bytes() + bytes > machine().memory_bytes)
    return failed(cudaErrorMemoryAllocation);
  *pointer = Buffers::all().allocate(bytes);
  return *pointer == nullptr ? failed(cudaErrorMemoryAllocation) : cudaSuccess;
}

// As on a device, cudaFree() first waits for all work.
cudaError_t cudaFree(void* pointer) {
  if (pointer == nullptr) return cudaSuccess;
  require_no_capture("cudaFree");
  drain_all();
  return Buffers::all().release(pointer) ? cudaSuccess : failed(cudaErrorInvalidValue);
}

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  require_alive(stream, "cudaMallocAsync");
  return cudaMalloc(pointer, bytes);
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  require_no_capture("cudaFreeAsync");
  if (Buffers::all().check(pointer, 1)) return failed(cudaErrorInvalidValue);
  run_in(stream, [pointer] { Buffers::all().release(pointer); });
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* all_bytes) {
  *all_bytes = machine().memory_bytes;
  *free_bytes = machine().memory_bytes - Buffers::all().used_bytes();
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) {
  *pointer = std::malloc(bytes);
  if (*pointer == nullptr) return failed(cudaErrorMemoryAllocation);
  host_buffers()[static_cast<std::byte*>(*pointer)] = bytes;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* pointer) {
  if (host_buffers().erase(static_cast<std::byte*>(pointer)) == 0)
    return failed(cudaErrorInvalidValue);
  drain_all();
  std::free(pointer);
  return cudaSuccess;
}

// Registered memory is the caller's; a range that overlaps another one is refused.
cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned) {
  auto* begin = static_cast<std::byte*>(pointer);
  if (pointer == nullptr || bytes == 0) return failed(cudaErrorInvalidValue);
  const auto next = host_buffers().lower_bound(begin);
  const bool meets_next = next != host_buffers().end() && next->first < begin + bytes;
  if (meets_next || is_page_locked(pointer)) return failed(cudaErrorHostMemoryAlreadyRegistered);
  if (machine().refuses_page_locks) return failed(cudaErrorMemoryAllocation);
  host_buffers()[begin] = bytes;
  registered_buffers().insert(begin);
  return cudaSuccess;
}

// Unlocks the buffer. If the device has yet to make a copy from it, that copy is a Fault, because
// the memory then belongs to no buffer.
cudaError_t cudaHostUnregister(void* pointer) {
  auto* begin = static_cast<std::byte*>(pointer);
  if (registered_buffers().erase(begin) == 0) return failed(cudaErrorHostMemoryNotRegistered);
  host_buffers().erase(begin);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  require_no_capture("cudaMemcpy");
  if (bytes > 0) copy(to, from, bytes, kind);
  return cudaSuccess;
}

// A copy from pageable memory takes the bytes during the call; a copy to pageable memory waits.
// [CUDA runtime API, "API synchronization behavior"]
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  check_ends(to, from, bytes, kind);
  if (kind == cudaMemcpyHostToDevice && !is_page_locked(from)) {
    const auto* begin = static_cast<const std::byte*>(from);
    run_in(stream, [to, taken = std::vector<std::byte>(begin, begin + bytes)] {
      copy(to, taken.data(), taken.size(), cudaMemcpyHostToDevice);
    });
    return cudaSuccess;
  }
  run_in(stream, [to, from, bytes, kind, was_locked = is_page_locked(from)] {
    if (was_locked && !is_page_locked(from))
      throw Fault(FaultKind::kCall,
                  fmt::format("{}: cudaMemcpyAsync of {} bytes: the page-locked memory at {} was "
                              "given back before the device had copied it",
                              name_of(FaultKind::kCall), bytes, from));
    copy(to, from, bytes, kind);
  });
  if (kind == cudaMemcpyDeviceToHost && !is_page_locked(to)) return cudaStreamSynchronize(stream);
  return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_step, const void* from, size_t from_step,
                              size_t row_bytes, size_t rows, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  if (row_bytes > to_step || row_bytes > from_step) return failed(cudaErrorInvalidValue);
  for (size_t row = 0; row < rows; ++row) {
    const cudaError_t code =
        cudaMemcpyAsync(static_cast<char*>(to) + row * to_step,
                        static_cast<const char*>(from) + row * from_step, row_bytes, kind, stream);
    if (code != cudaSuccess) return code;
  }
  return cudaSuccess;
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  if (bytes > 0) fill(to, value, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  check_device_end(to, bytes, "cudaMemsetAsync");
  run_in(stream, [to, value, bytes] { fill(to, value, bytes); });
  return cudaSuccess;
}
