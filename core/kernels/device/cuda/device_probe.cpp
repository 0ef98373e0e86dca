#include "core/kernels/device/cuda/device_probe.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/device/buffer.h"
#include "core/device/cuda/check.h"
#include "core/kernels/device/cuda/probe_kernels.cuh"
#include "core/kernels/device/cuda/timing.h"
#include "core/kernels/linear/cuda/gemm.h"

namespace reprise::kernels::cuda {
namespace {

using reprise::cuda::CudaDevice;
using Clock = std::chrono::steady_clock;
using DevicePointer = std::shared_ptr<CudaDevice>;

constexpr size_t kMiB = size_t{1} << 20;

void fill(CudaDevice& device, Buffer& buffer) {
  fill_random(buffer.as<uint32_t>(), static_cast<int64_t>(buffer.bytes() / sizeof(uint32_t)),
              device.stream());
}

template <typename Work>
double least_ms(int trials, DeviceTimer& timer, Work&& work) {
  double least = timer.ms_of(work);
  for (int trial = 1; trial < trials; ++trial) least = std::min(least, timer.ms_of(work));
  return least;
}

double gb_s(double bytes, double ms) { return 1e-6 * bytes / ms; }

// Reads a buffer with read_words(), with as many blocks as fill the device.
class ReadProbe {
 public:
  ReadProbe(DevicePointer device, size_t bytes)
      : device_(std::move(device)),
        blocks_(ReadWords::full_grid(device_->facts().sms)),
        data_(device_, bytes),
        sums_(device_, size_t{blocks_} * ReadWords::kThreads * sizeof(uint32_t)) {
    fill(*device_, data_);
  }
  void read(int times) {
    const ReadWords call{.data = data_.data(),
                         .words = static_cast<int64_t>(data_.bytes() / ReadWords::kWordBytes),
                         .blocks = blocks_,
                         .sums = sums_.as<uint32_t>()};
    for (int i = 0; i < times; ++i) read_words(call, device_->stream());
  }

 private:
  DevicePointer device_;
  unsigned blocks_;
  Buffer data_, sums_;
};

double read_gb_s(const DevicePointer& device, size_t bytes, int trials) {
  ReadProbe probe(device, bytes);
  DeviceTimer timer(device, DeviceTimer::Cache::kCold);
  return gb_s(static_cast<double>(bytes), least_ms(trials, timer, [&] { probe.read(1); }));
}

double l2_read_gb_s(const DevicePointer& device, int trials) {
  constexpr int kTimes = 50;
  const size_t bytes = l2_bytes(*device) / 2;
  ReadProbe probe(device, bytes);
  DeviceTimer timer(device, DeviceTimer::Cache::kWarm);
  const double ms = least_ms(trials, timer, [&] { probe.read(kTimes); });
  return gb_s(static_cast<double>(bytes) * kTimes, ms);
}

double copy_gb_s(const DevicePointer& device, size_t bytes, int trials) {
  Buffer from(device, bytes), to(device, bytes);
  fill(*device, from);
  DeviceTimer timer(device, DeviceTimer::Cache::kCold);
  const double ms = least_ms(trials, timer, [&] {
    reprise::cuda::check_cuda(
        cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, device->stream()),
        "cudaMemcpyAsync");
  });
  return gb_s(2.0 * static_cast<double>(bytes), ms);
}

double half_tflop_s(const DevicePointer& device, int trials) {
  constexpr int64_t kSide = 8192;
  constexpr size_t kBytes = size_t{kSide} * kSide * 2;
  Buffer x(device, kBytes), w(device, kBytes), out(device, kBytes);
  fill(*device, x);
  fill(*device, w);
  const std::unique_ptr<Gemm> gemm = make_gemm(*device);
  const GemmCall call{.x = x.data(),
                      .w = w.data(),
                      .dtype = DType::kBF16,
                      .m = kSide,
                      .n = kSide,
                      .k = kSide,
                      .out = out.data(),
                      .out_dtype = DType::kBF16};
  DeviceTimer timer(device, DeviceTimer::Cache::kWarm);
  const double ms = least_ms(trials, timer, [&] { gemm->run(call); });
  return 2e-9 * kSide * kSide * kSide / ms;
}

double launch_us(const DevicePointer& device, int trials) {
  constexpr int kLaunches = 500;
  DeviceTimer timer(device, DeviceTimer::Cache::kWarm);
  const double ms = least_ms(trials, timer, [&] {
    for (int i = 0; i < kLaunches; ++i) launch_nothing(device->stream());
  });
  return 1e3 * ms / kLaunches;
}

double round_trip_us(CudaDevice& device) {
  constexpr int kTrips = 200;
  double least = 1e9;
  for (int i = 0; i < kTrips; ++i) {
    const auto start = Clock::now();
    launch_nothing(device.stream());
    device.synchronize();
    least =
        std::min(least, std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  return least;
}

// Returns the bytes of a buffer that is several times as large as L2: `wanted`, but at most an
// eighth of the available memory (the probe uses two such buffers), and at least 64 MiB.
size_t streamed_bytes(const CudaDevice& device, size_t wanted) {
  const auto most = static_cast<size_t>(std::max<int64_t>(0, device.available_bytes() / 8));
  return std::clamp(most, 64 * kMiB, std::max(wanted, 64 * kMiB)) / ReadWords::kWordBytes *
         ReadWords::kWordBytes;
}

}  // namespace

DeviceLimits probe_rates(const DevicePointer& device) {
  constexpr int kTrials = 5;
  const auto start = Clock::now();
  DeviceLimits limits{.read_gb_s = read_gb_s(device, streamed_bytes(*device, 512 * kMiB), kTrials),
                      .half_tflop_s = half_tflop_s(device, kTrials)};
  limits.elapsed_s = std::chrono::duration<double>(Clock::now() - start).count();
  return limits;
}

DeviceLimits probe_device(const DevicePointer& device) {
  constexpr int kTrials = 20;
  const auto start = Clock::now();
  const size_t bytes = streamed_bytes(*device, 1024 * kMiB);
  DeviceLimits limits{.copy_gb_s = copy_gb_s(device, bytes, kTrials),
                      .read_gb_s = read_gb_s(device, bytes, kTrials),
                      .l2_read_gb_s = l2_read_gb_s(device, kTrials),
                      .half_tflop_s = half_tflop_s(device, kTrials),
                      .launch_us = launch_us(device, kTrials),
                      .round_trip_us = round_trip_us(*device)};
  limits.elapsed_s = std::chrono::duration<double>(Clock::now() - start).count();
  return limits;
}

}  // namespace reprise::kernels::cuda
