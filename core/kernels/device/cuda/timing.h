// Times work on a CUDA device by the device's own clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/device/buffer.h"
#include "core/device/cuda/cuda_device.h"
#include "core/device/cuda/stream.h"
#include "core/kernels/device/work_timer.h"

namespace reprise::kernels::cuda {

// Bytes of the device's L2. Throws Error where the device does not tell.
size_t l2_bytes(const reprise::cuda::CudaDevice& device);

// Times what is given to the device's stream between two events. The device is kept busy while the
// host hands it over: events around kernels that a host gives one by one to an idle device would
// time the host.
class DeviceTimer {
 public:
  // What L2 holds of the work's data when it begins: nothing, as in a layer of a model after the
  // weights of the one before, or what the same work left there.
  enum class Cache : uint8_t { kCold, kWarm };

  // kCold takes four times the L2 of the device's memory. Reading that takes longer than handing
  // over some ten kernels, and nothing else stays in L2; written, it would leave lines there that
  // the timed work has to write back.
  DeviceTimer(std::shared_ptr<reprise::cuda::CudaDevice> device, Cache cache);

  // GB/s of the read before the last work of a kCold timer.
  [[nodiscard]] double read_gb_s() const;

  // Milliseconds of one work(), which gives its kernels to the device's stream and does not wait.
  // The clock steps by about 0.5 us, and the events add some 2 us.
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
  unsigned blocks_;  // that read
  Buffer read_, sums_;
  reprise::cuda::Event read_begin_{reprise::cuda::Event::Use::kTime};
  reprise::cuda::Event begin_{reprise::cuda::Event::Use::kTime};
  reprise::cuda::Event end_{reprise::cuda::Event::Use::kTime};
};

// For experiments: kCold, behind the front of core/kernels.
std::unique_ptr<WorkTimer> make_work_timer(std::shared_ptr<reprise::cuda::CudaDevice> device);

}  // namespace reprise::kernels::cuda
