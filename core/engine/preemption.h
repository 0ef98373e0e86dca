// What becomes of a sequence that gives back its blocks for others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::engine {

enum class Preemption : uint8_t {
  kRecompute,  // it computes again what it had
  kSwapHost,   // its keys and values wait in memory
  kSwapDisk    // or in a folder
};

[[nodiscard]] std::string_view name_of(Preemption preemption);
// "recompute", "swap_host", "swap_disk".
[[nodiscard]] std::vector<std::string> known_preemptions();
// Throws Error with the nearest name.
[[nodiscard]] Preemption parse_preemption(std::string_view name);

struct SwapOptions {
  Preemption preemption = Preemption::kRecompute;
  int64_t most_bytes = 0;        // that all states together may take; 0: what memory or disk has
  std::filesystem::path folder;  // of kSwapDisk: there, or made; what is written is removed again
};

// A sequence whose states could not be kept, or not be read, computes them again.
struct SwapStats {
  int64_t held_sequences = 0, held_bytes = 0;  // now
  int64_t peak_bytes = 0;
  int64_t swapped_out = 0;  // sequences whose states were kept
  int64_t swapped_in = 0;   // of these, those whose states were written back
  int64_t full = 0;         // for whose states most_bytes had no room
  int64_t failed = 0;       // that memory or disk refused
  int64_t lost = 0;         // that went on behind shared tokens, which have left the cache since
  std::string last_failure;
};

}  // namespace reprise::engine
