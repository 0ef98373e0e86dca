// A stand-in for the driver's NVML, with one device that does not tell its temperature.
#include <cstring>

namespace {
int starts = 0;
int device = 0;
constexpr int kUnknownDevice = 6, kNotSupported = 3;
}  // namespace

extern "C" {

int nvmlInit_v2() {
  ++starts;
  return 0;
}
int nvmlShutdown() {
  --starts;
  return 0;
}
const char* nvmlErrorString(int code) { return code == kUnknownDevice ? "Not Found" : "Other"; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* place, void** found) {
  if (std::strcmp(place, "0000:3B:00.0") != 0) return kUnknownDevice;
  *found = &device;
  return 0;
}
int nvmlDeviceGetClockInfo(void* asked, unsigned kind, unsigned* mhz) {
  if (starts != 1 || asked != &device) return 1;
  *mhz = kind == 1 ? 1755 : 2619;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(void*, unsigned kind, unsigned* mhz) {
  *mhz = kind == 1 ? 1980 : 2619;
  return 0;
}
int nvmlDeviceGetTemperature(void*, unsigned, unsigned*) { return kNotSupported; }
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 698500;
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700000;
  return 0;
}
// The name before NVML 12.
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = 0x4 | 0x40 | 0x1;
  return 0;
}

}  // extern "C"
