// What this processor can do, and which of it we use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace reprise {

// Instruction sets the kernels are compiled for, weakest first.
enum class Isa : uint8_t { kPortable, kAvx2, kAvx512, kAvx512Bf16 };

std::string_view name_of(Isa isa);  // "portable", "avx2", "avx512", "avx512-bf16"
// Throws Error for an unknown name and for one this processor lacks.
Isa parse_isa(std::string_view name);
// The strongest set this processor and operating system support.
Isa best_isa();

struct CpuFacts {
  std::string model;                                  // as the system names it
  int logical_cores = 0;                              // that this process may run on
  int64_t l1d_bytes = 0, l2_bytes = 0, l3_bytes = 0;  // per instance; 0 where unknown
  int l3_instances = 1;                               // that the cores of this process use
};
const CpuFacts& cpu_facts();

}  // namespace reprise
