// How a sequence gets its states back after it gave its blocks to others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::engine {

enum class Preemption : uint8_t {
  kRecompute,  // states are computed again
  kSwapHost,   // states wait in host memory
  kSwapDisk    // states wait in files
};

[[nodiscard]] std::string_view name_of(Preemption preemption);
// "recompute", "swap_host", "swap_disk".
[[nodiscard]] std::vector<std::string> known_preemptions();
// Throws Error with the nearest name for an unknown one.
[[nodiscard]] Preemption parse_preemption(std::string_view name);

struct SwapOptions {
  Preemption preemption = Preemption::kRecompute;
  // Upper bound on the bytes of all kept states; 0: no bound.
  int64_t most_bytes = 0;
  // For kSwapDisk. Created if it does not exist; files written there are removed again.
  std::filesystem::path folder;
};

// Counts of preempted sequences. States that could not be kept or read are computed again.
struct SwapStats {
  int64_t held_sequences = 0, held_bytes = 0;  // now
  int64_t peak_bytes = 0;
  int64_t swapped_out = 0;  // sequences whose states were kept
  int64_t swapped_in = 0;   // sequences whose states were copied back
  int64_t full = 0;         // sequences for which most_bytes had no room
  int64_t failed = 0;       // copies or file operations that failed
  // Sequences whose kept states were useless because shared tokens before them had left the cache.
  int64_t lost = 0;
  std::string last_failure;
};

}  // namespace reprise::engine
