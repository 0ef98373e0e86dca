// Times work on a CUDA device with the device's clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/device/buffer.h"
#include "core/device/cuda/cuda_device.h"
#include "core/device/cuda/stream.h"
#include "core/kernels/device/work_timer.h"

namespace reprise::kernels::cuda {

// Size of the device's L2 in bytes. Throws Error if the device does not report it.
size_t l2_bytes(const reprise::cuda::CudaDevice& device);

// Times work in the device's stream between two events. The timer keeps the device busy while the
// host launches the work: otherwise the events would measure how fast the host launches.
class DeviceTimer {
 public:
  // State of L2 when the work begins. kCold: none of the work's data is in L2. A layer of a model
  // begins like this, because the previous layer's weights have filled L2. kWarm: L2 holds what an
  // earlier run of the work left.
  enum class Cache : uint8_t { kCold, kWarm };

  // A kCold timer takes device memory of four times the size of L2, at least 64 MiB, and reads it
  // before each timed work. Reading evicts everything else from L2. It also keeps the device busy
  // while the host launches up to about ten kernels. The memory is not written, because then the
  // timed work would have to write lines of L2 back.
  DeviceTimer(std::shared_ptr<reprise::cuda::CudaDevice> device, Cache cache);

  // Bandwidth in GB/s at which a kCold timer read its memory before the last timed work.
  [[nodiscard]] double read_gb_s() const;

  // Returns the milliseconds that one work() takes on the device. work() launches kernels in the
  // device's stream and does not wait. The clock has steps of about 0.5 us; the events add about 2
  // us.
  template <typename Work>
  double ms_of(Work&& work) {
    if (cache_ == Cache::kWarm) work();
    begin();
    work();
    return end_ms();
  }

 private:
  void begin();
  double end_ms();

  std::shared_ptr<reprise::cuda::CudaDevice> device_;
  Cache cache_;
  unsigned blocks_;  // blocks of the reading kernel
  Buffer read_, sums_;
  reprise::cuda::Event read_begin_{reprise::cuda::Event::Use::kTime};
  reprise::cuda::Event begin_{reprise::cuda::Event::Use::kTime};
  reprise::cuda::Event end_{reprise::cuda::Event::Use::kTime};
};

// Makes a kCold timer with the interface of core/kernels, which experiments use.
std::unique_ptr<WorkTimer> make_work_timer(std::shared_ptr<reprise::cuda::CudaDevice> device);

}  // namespace reprise::kernels::cuda
