// How a preempted sequence gets back the states whose blocks it gave up.
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
// Throws Error for an unknown name, with the nearest known one.
[[nodiscard]] Preemption parse_preemption(std::string_view name);

struct SwapOptions {
  Preemption preemption = Preemption::kRecompute;
  // Upper bound on the bytes of the states kept for all sequences; 0: no bound.
  int64_t most_bytes = 0;
  // Folder of kSwapDisk. It is created if it does not exist. Files written there are removed again.
  std::filesystem::path folder;
  std::string folder_option = "swap.folder";  // what errors call the option that sets `folder`
};

// Counts of preempted sequences and their states. States that could not be kept or read are
// computed again.
struct SwapStats {
  int64_t held_sequences = 0, held_bytes = 0;  // sequences kept now, and the bytes of their states
  int64_t peak_bytes = 0;
  int64_t swapped_out = 0;  // sequences whose states were kept
  int64_t swapped_in = 0;   // sequences whose states were copied back
  int64_t full = 0;         // sequences not kept, because most_bytes had no room for their states
  int64_t failed = 0;       // copies or file operations that failed
  // Sequences whose kept states were useless because shared tokens before them had left the cache.
  int64_t lost = 0;
  std::string last_failure;
};

}  // namespace reprise::engine
