#include "tests/cuda_on_cpu/runtime_api.h"

#include <fmt/core.h>

#include <cstring>

#include "tests/cuda_on_cpu/buffers.h"

struct CudaOnCpuStream {};

namespace {

using cuda_on_cpu::Buffers;
using cuda_on_cpu::Fault;

void check_device_end(const void* address, size_t bytes, const char* call) {
  if (const auto finding = Buffers::all().check(address, bytes))
    throw Fault(finding->kind,
                fmt::format("{}: {} of {} bytes: {}", cuda_on_cpu::name_of(finding->kind), call,
                            bytes, finding->text));
}

}  // namespace

const char* cudaGetErrorName(cudaError_t code) {
  return code == cudaSuccess             ? "cudaSuccess"
         : code == cudaErrorInvalidValue ? "cudaErrorInvalidValue"
                                         : "cudaErrorMemoryAllocation";
}

const char* cudaGetErrorString(cudaError_t code) {
  return code == cudaSuccess             ? "no error"
         : code == cudaErrorInvalidValue ? "invalid argument"
                                         : "out of memory";
}

cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  *pointer = bytes == 0 ? nullptr : Buffers::all().allocate(bytes);
  return bytes > 0 && *pointer == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
  return pointer == nullptr || Buffers::all().release(pointer) ? cudaSuccess
                                                               : cudaErrorInvalidValue;
}

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t) {
  return cudaMalloc(pointer, bytes);
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) { return cudaFree(pointer); }

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return cudaSuccess;
  if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice)
    check_device_end(to, bytes, "cudaMemcpy to the device");
  if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice)
    check_device_end(from, bytes, "cudaMemcpy from the device");
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t) {
  return cudaMemcpy(to, from, bytes, kind);
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  if (bytes == 0) return cudaSuccess;
  check_device_end(to, bytes, "cudaMemset");
  std::memset(to, value, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t) {
  return cudaMemset(to, value, bytes);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new CudaOnCpuStream;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
