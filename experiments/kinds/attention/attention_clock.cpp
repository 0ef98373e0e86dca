#include "experiments/kinds/attention/attention_clock.h"

#include <limits>

#include "core/base/error.h"
#include "core/device/machine_probe.h"
#include "core/kernels/device/work_timer.h"
#include "experiments/kinds/shared/bench.h"
#include "experiments/kinds/shared/costs.h"

namespace reprise::experiments {
namespace {

class HostClock final : public AttentionClock {
 public:
  explicit HostClock(const Context& context) : context_(context), probe_(context) {}

  [[nodiscard]] MomentRates before(DType kv_dtype) override {
    MomentRates rates;
    rates.gflop_s = probe_.sample(kv_dtype == DType::kBF16 ? Limit::kBf16 : Limit::kF32);
    // The read comes last, because it empties the caches.
    rates.dram_read_gb_s = probe_.sample(Limit::kDramRead);
    (void)wake_threads(context_);
    return rates;
  }
  [[nodiscard]] double us(const std::function<void()>& work) override {
    const int64_t start_ns = now_ns();
    work();
    return static_cast<double>(now_ns() - start_ns) * 1e-3;
  }
  void after(MomentRates& /*rates*/) override {}
  [[nodiscard]] double cold_us(const std::function<void()>& work) override {
    (void)probe_.sample(Limit::kDramRead);
    (void)wake_threads(context_);
    return us(work);
  }
  [[nodiscard]] std::string caches() const override {
    return fmt::format(
        "cold: {} MiB of other memory are read before each turn, which stores the step's keys and "
        "values and then computes attention",
        probe_.trial_bytes() >> 20);
  }

 private:
  Context context_;
  MachineProbe probe_;
};

class DeviceClock final : public AttentionClock {
 public:
  DeviceClock(const Context& context, const Machine& machine)
      : timer_(kernels::make_work_timer(context)), machine_(machine) {}

  // Takes the arithmetic rate from the record, because measuring it would take longer than the
  // steps. Without a rate in the record, memory is the only limit.
  [[nodiscard]] MomentRates before(DType kv_dtype) override {
    const double gflop_s = gflop_limit(machine_, kv_dtype);
    return {.gflop_s = gflop_s > 0 ? gflop_s : std::numeric_limits<double>::infinity()};
  }
  [[nodiscard]] double us(const std::function<void()>& work) override {
    return timer_->cold_us(work);
  }
  void after(MomentRates& rates) override { rates.dram_read_gb_s = timer_->read_gb_s(); }
  [[nodiscard]] double cold_us(const std::function<void()>& work) override {
    return timer_->cold_us(work);
  }
  [[nodiscard]] std::string caches() const override {
    return "cold: other memory of the device is read before each timed call";
  }

 private:
  std::unique_ptr<kernels::WorkTimer> timer_;
  const Machine& machine_;
};

}  // namespace

std::unique_ptr<AttentionClock> make_attention_clock(const Context& context,
                                                     const Machine& machine) {
  if (context.runtime != nullptr) return std::make_unique<DeviceClock>(context, machine);
  return std::make_unique<HostClock>(context);
}

}  // namespace reprise::experiments
