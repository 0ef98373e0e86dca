#include "core/device/cpu.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <set>
#include <vector>

#include "core/base/error.h"
#include "core/device/control_group.h"

namespace reprise {
namespace {

constexpr std::array kAllIsas = {Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16,
                                 Isa::kAmx};

// Bytes of one data (or unified) cache of level `wanted_level`, from /sys; 0 if unknown. (glibc's
// sysconf reports the sum over all instances for an AMD processor's L3.)
int64_t cache_bytes(int wanted_level) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    int level = 0;
    std::string type, size;
    if (!(std::ifstream(folder + "level") >> level) || !(std::ifstream(folder + "type") >> type) ||
        !(std::ifstream(folder + "size") >> size))
      continue;
    if (level != wanted_level || type == "Instruction") continue;
    const int64_t unit = size.back() == 'K' ? 1024 : size.back() == 'M' ? 1024 * 1024 : 1;
    return std::strtoll(size.c_str(), nullptr, 10) * unit;
  }
  return 0;
}

// Returns the processors on which this process may run; empty if the system does not say.
std::vector<int> usable_processors() {
  constexpr int kMost = 1 << 16;
  // The system refuses a set that is smaller than its own.
  for (int processors = CPU_SETSIZE; processors <= kMost; processors *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(
        CPU_ALLOC(static_cast<size_t>(processors)), [](cpu_set_t* of) { CPU_FREE(of); });
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(processors));
    if (set == nullptr || sched_getaffinity(0, bytes, set.get()) != 0) continue;
    std::vector<int> found;
    for (int cpu = 0; cpu < processors; ++cpu)
      if (CPU_ISSET_S(static_cast<size_t>(cpu), bytes, set.get())) found.push_back(cpu);
    return found;
  }
  return {};
}

// Returns how many different texts the file at `name` in the folders of these processors has.
int count_groups(const std::vector<int>& processors, const char* name) {
  std::set<std::string> lists;
  for (const int cpu : processors) {
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/" + name);
    std::string list;
    if (std::getline(file, list)) lists.insert(list);
  }
  return static_cast<int>(lists.size());
}

#if defined(__x86_64__)
// Asks CPUID itself, because GCC 11's __builtin_cpu_supports() does not know AMX.
bool has_amx_bf16() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kAmxBf16 = 1u << 22, kAmxTile = 1u << 24;
  return (d & kAmxBf16) != 0 && (d & kAmxTile) != 0;
}

// Requests AMX's tiles: Linux keeps their state (8 KiB a thread) only for processes that ask for
// it.
bool may_use_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#endif

CpuFacts read_cpu_facts() {
  CpuFacts facts;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) {
      facts.model = line.substr(line.find(':') + 2);
      break;
    }
  }
  const std::vector<int> usable = usable_processors();
  const auto processors = usable.empty() ? static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))
                                         : static_cast<int>(usable.size());
  facts.logical_cores = processors_within_quota(processors, processors_of_control_group());
  facts.l1d_bytes = cache_bytes(1);
  facts.l2_bytes = cache_bytes(2);
  facts.l3_bytes = cache_bytes(3);
  facts.l3_instances = std::max(1, count_groups(usable, "cache/index3/shared_cpu_list"));
  const int cores = count_groups(usable, "topology/thread_siblings_list");
  facts.threads_of_core = cores > 0 ? (processors + cores - 1) / cores : 1;
  return facts;
}

}  // namespace

std::string_view name_of(Isa isa) {
  switch (isa) {
    case Isa::kPortable:
      return "portable";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx512Bf16:
      return "avx512-bf16";
    case Isa::kAmx:
      return "amx";
  }
  return "?";
}

Isa parse_isa(std::string_view name) {
  for (Isa isa : kAllIsas) {
    if (name != name_of(isa)) continue;
    if (isa > best_isa())
      raise("this processor ({}) has no {}; the best here is {}", cpu_facts().model, name,
            name_of(best_isa()));
    return isa;
  }
  raise("unknown instruction set \"{}\": use portable, avx2, avx512, avx512-bf16 or amx", name);
}

Isa best_isa() {
#if defined(__x86_64__)
  static const Isa best = [] {
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd");
    if (avx512 && __builtin_cpu_supports("avx512bf16"))
      return has_amx_bf16() && may_use_tiles() ? Isa::kAmx : Isa::kAvx512Bf16;
    if (avx512) return Isa::kAvx512;
    return avx2 ? Isa::kAvx2 : Isa::kPortable;
  }();
  return best;
#else
  return Isa::kPortable;
#endif
}

int processors_within_quota(int processors, std::optional<double> quota) {
  if (!quota || *quota >= processors) return processors;
  return std::max(1, static_cast<int>(std::ceil(*quota)));
}

const CpuFacts& cpu_facts() {
  static const CpuFacts facts = read_cpu_facts();
  return facts;
}

}  // namespace reprise
