#include "core/device/cuda/cuda_device.h"

#include <cuda_runtime.h>

#include "core/device/cuda/check.h"

namespace reprise::cuda {
namespace {

constexpr int kLeastMajor = 8;  // the kernels use cp.async and bf16 tensor cores

std::string version_text(int version) {  // 13020 is 13.2
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

[[noreturn]] void refuse_driver() {
  int driver = 0, runtime = 0;
  static_cast<void>(cudaDriverGetVersion(&driver));
  static_cast<void>(cudaRuntimeGetVersion(&runtime));
  raise(
      "the NVIDIA driver is too old for this build: it knows CUDA {}, and the build needs {}. "
      "Update the driver, or build with a CUDA Toolkit of at most {}",
      version_text(driver), version_text(runtime), version_text(driver));
}

int count_devices() {
  int devices = 0;
  const cudaError_t code = cudaGetDeviceCount(&devices);
  // The runtime returns this code also if there is no driver at all; the driver version is then 0.
  if (code == cudaErrorInsufficientDriver) {
    int driver = 0;
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0) refuse_driver();
    devices = 0;
  } else if (code != cudaErrorNoDevice) {
    check_cuda(code, "cudaGetDeviceCount");
  }
  return devices;
}

}  // namespace

DeviceFacts require_cuda_device(int ordinal) {
  const int devices = count_devices();
  if (devices == 0)
    raise(
        "there is no CUDA device: no NVIDIA driver is loaded, or CUDA_VISIBLE_DEVICES hides every "
        "GPU. nvidia-smi lists them; use --device cpu without one");
  if (ordinal < 0 || ordinal >= devices)
    raise("there is no CUDA device {}: this machine has {}, counted from 0", ordinal, devices);
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
  if (properties.major < kLeastMajor)
    raise(
        "{} has compute capability {}.{}, and the kernels need 8.0 (A100) or later: use another "
        "GPU, or --device cpu",
        properties.name, properties.major, properties.minor);
  return {.name = properties.name,
          .ordinal = ordinal,
          .major = properties.major,
          .minor = properties.minor,
          .sms = properties.multiProcessorCount,
          .memory_bytes = static_cast<int64_t>(properties.totalGlobalMem)};
}

namespace {

// Selects the device for this thread, so that the members constructed after facts_ are made on it.
DeviceFacts select(int ordinal) {
  DeviceFacts facts = require_cuda_device(ordinal);
  check_cuda(cudaSetDevice(ordinal), "cudaSetDevice");
  return facts;
}

}  // namespace

CudaDevice::CudaDevice(const CudaOptions& options)
    : facts_(select(options.ordinal)), memory_(options.budget_bytes), graphs_(stream_.get()) {}

// Waits for all work first, so that no work uses memory blocks when they are freed.
CudaDevice::~CudaDevice() {
  if (side_ != nullptr) static_cast<void>(cudaStreamSynchronize(side_->stream.get()));
  static_cast<void>(cudaStreamSynchronize(stream_.get()));
}

// Whole GiB, because another driver may leave some MiB more or less.
std::string CudaDevice::description() const {
  return fmt::format("{} ({}.{}, {} SMs, {} GiB)", facts_.name, facts_.major, facts_.minor,
                     facts_.sms, facts_.memory_bytes >> 30);
}

void* CudaDevice::allocate(size_t bytes) {
  require_no_recording("allocates memory");
  void* data = memory_.take(bytes);
  if (bytes == 0) return data;
  const cudaError_t code = cudaMemsetAsync(data, 0, bytes, stream_.get());
  if (code != cudaSuccess) memory_.give(data, bytes);
  check_cuda(code, "cudaMemsetAsync");
  return data;
}

void CudaDevice::release(void* data, size_t bytes) noexcept { memory_.give(data, bytes); }

void CudaDevice::copy_in(void* to, const void* host, size_t bytes) {
  require_no_recording("copies from the host");
  staging_.copy_in(to, host, bytes, stream_.get());
}

void CudaDevice::copy_out(void* host, const void* from, size_t bytes) {
  require_no_recording("copies to the host");
  staging_.copy_out(host, from, bytes, stream_.get());
}

void CudaDevice::copy_within(void* to, size_t to_step, const void* from, size_t from_step,
                             size_t row_bytes, size_t rows) {
  check_cuda(cudaMemcpy2DAsync(to, to_step, from, from_step, row_bytes, rows,
                               cudaMemcpyDeviceToDevice, stream_.get()),
             "cudaMemcpy2DAsync within the device");
}

CudaDevice::Side& CudaDevice::side() {
  if (side_ == nullptr) side_ = std::make_unique<Side>();
  return *side_;
}

void CudaDevice::begin_side_copies() {
  require_no_recording("begins copies beside it");
  side().begin.record(stream_.get());
  side().stream.wait_for(side().begin);
}

void CudaDevice::copy_in_beside(void* to, const void* host, size_t bytes) {
  require_no_recording("copies from the host");
  if (bytes == 0) return;
  bool is_locked = false;
  {
    const std::lock_guard lock(locks_mutex_);
    const auto* begin = static_cast<const std::byte*>(host);
    auto above = locks_.upper_bound(begin);
    if (above != locks_.begin()) {
      const auto& [start, count] = *--above;
      is_locked = begin + bytes <= start + count;
    }
  }
  if (!is_locked) return side().staging.copy_in(to, host, bytes, side().stream.get());
  check_cuda(cudaMemcpyAsync(to, host, bytes, cudaMemcpyHostToDevice, side().stream.get()),
             "cudaMemcpyAsync to the device");
}

void CudaDevice::await_side_copies() {
  require_no_recording("waits for copies beside it");
  if (side_ == nullptr) return;
  side().end.record(side().stream.get());
  stream_.wait_for(side().end);
}

bool CudaDevice::lock_host(const void* data, size_t bytes) {
  // cudaSetDevice, because this thread may not have used the device yet.
  if (cudaSetDevice(facts_.ordinal) != cudaSuccess ||
      cudaHostRegister(const_cast<void*>(data), bytes, cudaHostRegisterDefault) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // clears the error for the next call
    return false;
  }
  const std::lock_guard lock(locks_mutex_);
  locks_[static_cast<const std::byte*>(data)] = bytes;
  return true;
}

void CudaDevice::unlock_host(const void* data) noexcept {
  {
    const std::lock_guard lock(locks_mutex_);
    locks_.erase(static_cast<const std::byte*>(data));
  }
  // A failure here is ignored: another call reports its cause.
  static_cast<void>(cudaHostUnregister(const_cast<void*>(data)));
}

void CudaDevice::require_no_recording(const char* what) const {
  REPRISE_CHECK(!graphs_.is_recording(), "work that is recorded for a CUDA graph {}", what);
}

}  // namespace reprise::cuda
