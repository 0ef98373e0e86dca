// Empty functions for programs that are no fuzzers but use libraries that report coverage. In a
// fuzzer, libFuzzer's own functions take their place.
#include <cstdint>

extern "C" {
[[gnu::weak]] void __sanitizer_cov_trace_pc() {}
[[gnu::weak]] void __sanitizer_cov_trace_cmp1(uint8_t, uint8_t) {}
[[gnu::weak]] void __sanitizer_cov_trace_cmp2(uint16_t, uint16_t) {}
[[gnu::weak]] void __sanitizer_cov_trace_cmp4(uint32_t, uint32_t) {}
[[gnu::weak]] void __sanitizer_cov_trace_cmp8(uint64_t, uint64_t) {}
[[gnu::weak]] void __sanitizer_cov_trace_const_cmp1(uint8_t, uint8_t) {}
[[gnu::weak]] void __sanitizer_cov_trace_const_cmp2(uint16_t, uint16_t) {}
[[gnu::weak]] void __sanitizer_cov_trace_const_cmp4(uint32_t, uint32_t) {}
[[gnu::weak]] void __sanitizer_cov_trace_const_cmp8(uint64_t, uint64_t) {}
[[gnu::weak]] void __sanitizer_cov_trace_cmpf(float, float) {}
[[gnu::weak]] void __sanitizer_cov_trace_cmpd(double, double) {}
[[gnu::weak]] void __sanitizer_cov_trace_switch(uint64_t, void*) {}
}
