// Gives libFuzzer the coverage that GCC reports. GCC calls a function in each basic block, whereas
// libFuzzer reads a table of counters. Here each block increments the counter that its address
// chooses.
#include <array>
#include <cstdint>

extern "C" void __sanitizer_cov_8bit_counters_init(uint8_t* begin, uint8_t* end);

namespace {

constexpr uintptr_t kBlocks = 1 << 17;
std::array<uint8_t, kBlocks> counters;

[[gnu::constructor]] void tell_libfuzzer() {
  __sanitizer_cov_8bit_counters_init(counters.data(), counters.data() + counters.size());
}

}  // namespace

// Called in place of libFuzzer's own __sanitizer_cov_trace_pc() (through the linker's option
// --wrap), which no longer does anything.
extern "C" void __wrap___sanitizer_cov_trace_pc() {
  auto block = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  block = (block ^ (block >> 17)) % kBlocks;
  ++counters[block];
}

// GCC reports comparisons of real numbers, too; libFuzzer has no use for them.
extern "C" void __sanitizer_cov_trace_cmpf(float, float) {}
extern "C" void __sanitizer_cov_trace_cmpd(double, double) {}
