// The processor's instruction sets, cores and caches, and the choice of an instruction set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace reprise {

// Instruction sets for which the kernels are compiled, weakest first. Each set contains the sets
// before it; kAmx is AVX512-BF16 plus AMX's bf16 tiles.
enum class Isa : uint8_t { kPortable, kAvx2, kAvx512, kAvx512Bf16, kAmx };

std::string_view name_of(Isa isa);  // "portable", "avx2", "avx512", "avx512-bf16", "amx"
// Throws Error for an unknown name and for an instruction set that this processor lacks.
Isa parse_isa(std::string_view name);
// The strongest instruction set that this processor and operating system support. The first call
// requests the operating system's permission to use AMX's tiles in all threads of the process.
Isa best_isa();
// True if `isa` has AVX512-BF16's dot product: kAvx512Bf16 and kAmx.
[[nodiscard]] constexpr bool has_bf16_dot(Isa isa) { return isa >= Isa::kAvx512Bf16; }

// Facts about the processor, as the system reports them.
struct CpuFacts {
  std::string model;  // such as "AMD EPYC 9654 96-Core Processor"
  // Processors that this process may run on; fewer if its control group's quota allows less time.
  int logical_cores = 0;
  int64_t l1d_bytes = 0, l2_bytes = 0, l3_bytes = 0;  // bytes of one cache; 0 if unknown
  int l3_instances = 1;     // L3 caches of the processors that this process may run on
  int threads_of_core = 1;  // of these processors that share a core (SMT)
};
// Returns `processors`, or the quota of processors rounded up if that is less; at least 1. More
// threads would only wait for each other.
[[nodiscard]] int processors_within_quota(int processors, std::optional<double> quota);
const CpuFacts& cpu_facts();

}  // namespace reprise
