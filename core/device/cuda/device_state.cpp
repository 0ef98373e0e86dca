#include "core/device/cuda/device_state.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace reprise::cuda {
namespace {

struct ThrottleReason {
  uint64_t bit;
  const char* name;
};
// The bits of NVML's nvmlClocksEventReasons that slow work down. (Three others do not: 0x1 is an
// idle device, 0x2 clocks that an application set, 0x100 clocks that a display needs.)
constexpr ThrottleReason kThrottleReasons[] = {
    {0x4, "power cap"},         {0x8, "hardware slowdown"}, {0x10, "sync boost"},
    {0x20, "software thermal"}, {0x40, "hardware thermal"}, {0x80, "power brake"}};

// NVML's codes of a clock and a sensor.
constexpr unsigned kClockSm = 1, kClockMemory = 2;
constexpr unsigned kTemperatureGpu = 0;

}  // namespace

std::vector<std::string> throttle_names(uint64_t reasons) {
  std::vector<std::string> names;
  for (const ThrottleReason& reason : kThrottleReasons)
    if ((reasons & reason.bit) != 0) names.emplace_back(reason.name);
  return names;
}

// NVML's functions, as its API reference declares them. Each returns 0 for success; a void*
// argument is the device's handle.
struct DeviceMonitor::Library {
  void* handle = nullptr;
  bool is_started = false;
  int (*shut_down)() = nullptr;
  const char* (*error_text)(int) = nullptr;
  int (*device_at)(const char*, void**) = nullptr;
  int (*clock)(void*, unsigned, unsigned*) = nullptr;
  int (*most_clock)(void*, unsigned, unsigned*) = nullptr;
  int (*temperature)(void*, unsigned, unsigned*) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;        // mW
  int (*power_limit)(void*, unsigned*) = nullptr;  // mW
  int (*reasons)(void*, unsigned long long*) = nullptr;

  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (is_started) shut_down();
    if (handle != nullptr) dlclose(handle);
  }

  template <typename Function>
  bool find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    return function != nullptr;
  }

  // Loads NVML. Returns the reason why NVML cannot be used, or "".
  std::string open(const std::string& name) {
    handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return fmt::format("{} cannot be loaded: {}", name, dlerror());
    int (*start)() = nullptr;
    const bool has_needed = find("nvmlInit_v2", start) && find("nvmlShutdown", shut_down) &&
                            find("nvmlErrorString", error_text) &&
                            find("nvmlDeviceGetHandleByPciBusId_v2", device_at);
    if (!has_needed) return fmt::format("{} lacks a function of NVML", name);
    find("nvmlDeviceGetClockInfo", clock);
    find("nvmlDeviceGetMaxClockInfo", most_clock);
    find("nvmlDeviceGetTemperature", temperature);
    find("nvmlDeviceGetPowerUsage", power);
    find("nvmlDeviceGetEnforcedPowerLimit", power_limit);
    // NVML 12 renamed this function; drivers keep the old name.
    if (!find("nvmlDeviceGetCurrentClocksEventReasons", reasons))
      find("nvmlDeviceGetCurrentClocksThrottleReasons", reasons);
    if (const int code = start(); code != 0)
      return fmt::format("NVML does not start: {}", error_text(code));
    is_started = true;
    return "";
  }
};

namespace {

template <typename Function, typename... Arguments>
int asked(Function function, Arguments... arguments) {
  unsigned value = 0;
  if (function == nullptr || function(arguments..., &value) != 0) return -1;
  return static_cast<int>(value);
}

double watts(int milliwatts) { return milliwatts < 0 ? -1.0 : 1e-3 * milliwatts; }

}  // namespace

DeviceMonitor::DeviceMonitor(const std::string& pci_bus_id, const std::string& library)
    : library_(std::make_unique<Library>()) {
  absence_ = library_->open(library);
  if (!absence_.empty()) return;
  if (const int code = library_->device_at(pci_bus_id.c_str(), &device_); code != 0)
    absence_ = fmt::format("NVML does not know the device at {}: {}", pci_bus_id,
                           library_->error_text(code));
}

DeviceMonitor::~DeviceMonitor() = default;

DeviceState DeviceMonitor::state() const {
  DeviceState state;
  if (!absence_.empty()) return state;
  const Library& nvml = *library_;
  state.sm_mhz = asked(nvml.clock, device_, kClockSm);
  state.memory_mhz = asked(nvml.clock, device_, kClockMemory);
  state.most_sm_mhz = asked(nvml.most_clock, device_, kClockSm);
  state.most_memory_mhz = asked(nvml.most_clock, device_, kClockMemory);
  state.temperature_c = asked(nvml.temperature, device_, kTemperatureGpu);
  state.power_w = watts(asked(nvml.power, device_));
  state.power_limit_w = watts(asked(nvml.power_limit, device_));
  unsigned long long reasons = 0;
  if (nvml.reasons != nullptr && nvml.reasons(device_, &reasons) == 0)
    state.throttle_reasons = reasons;
  return state;
}

Fields DeviceMonitor::state_fields() const {
  if (!absence_.empty()) return {{"absent", absence_}};
  const DeviceState now = state();
  return {{"sm_mhz", now.sm_mhz},
          {"memory_mhz", now.memory_mhz},
          {"most_sm_mhz", now.most_sm_mhz},
          {"most_memory_mhz", now.most_memory_mhz},
          {"temperature_c", now.temperature_c},
          {"power_w", now.power_w},
          {"power_limit_w", now.power_limit_w},
          {"throttled_by", throttle_names(now.throttle_reasons)}};
}

}  // namespace reprise::cuda
