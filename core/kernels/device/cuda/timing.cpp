#include "core/kernels/device/cuda/timing.h"

#include <algorithm>
#include <utility>

#include "core/device/cuda/check.h"
#include "core/kernels/device/cuda/probe_kernels.cuh"

namespace reprise::kernels::cuda {

size_t l2_bytes(const reprise::cuda::CudaDevice& device) {
  int bytes = 0;
  reprise::cuda::check_cuda(
      cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device.facts().ordinal),
      "cudaDeviceGetAttribute");
  return static_cast<size_t>(bytes);
}

DeviceTimer::DeviceTimer(std::shared_ptr<reprise::cuda::CudaDevice> device, Cache cache)
    : device_(std::move(device)),
      cache_(cache),
      blocks_(ReadWords::full_grid(device_->facts().sms)) {
  if (cache_ == Cache::kWarm) return;
  constexpr size_t kTimesL2 = 4, kLeastBytes = size_t{64} << 20;
  read_ = Buffer(device_, std::max(kTimesL2 * l2_bytes(*device_), kLeastBytes));
  sums_ = Buffer(device_, size_t{blocks_} * ReadWords::kThreads * sizeof(uint32_t));
}

void DeviceTimer::begin() {
  if (cache_ == Cache::kCold) {
    read_begin_.record(device_->stream());
    read_words({.data = read_.data(),
                .words = static_cast<int64_t>(read_.bytes() / ReadWords::kWordBytes),
                .blocks = blocks_,
                .sums = sums_.as<uint32_t>()},
               device_->stream());
  }
  begin_.record(device_->stream());
}

double DeviceTimer::end_ms() {
  end_.record(device_->stream());
  end_.wait();
  return end_.ms_since(begin_);
}

double DeviceTimer::read_gb_s() const {
  return static_cast<double>(read_.bytes()) / (begin_.ms_since(read_begin_) * 1e6);
}

namespace {

class ColdTimer final : public WorkTimer {
 public:
  explicit ColdTimer(std::shared_ptr<reprise::cuda::CudaDevice> device)
      : timer_(std::move(device), DeviceTimer::Cache::kCold) {}
  [[nodiscard]] double cold_us(const std::function<void()>& work) override {
    return timer_.ms_of(work) * 1e3;
  }
  [[nodiscard]] double read_gb_s() const override { return timer_.read_gb_s(); }

 private:
  DeviceTimer timer_;
};

}  // namespace

std::unique_ptr<WorkTimer> make_work_timer(std::shared_ptr<reprise::cuda::CudaDevice> device) {
  return std::make_unique<ColdTimer>(std::move(device));
}

}  // namespace reprise::kernels::cuda
