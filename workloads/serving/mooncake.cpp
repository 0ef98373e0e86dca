// Mooncake's traces: arrival times, lengths, and block ids that show which blocks of prompts are
// equal.
//
// Files are JSON Lines of {timestamp (ms), input_length, output_length, hash_ids} with an id for
// each block of 512 tokens, the last one partly filled [Mooncake, FAST'25].
//
// Prompts are made as in BlockTrace. The blocks with which all requests begin, the service's system
// prompt, become a declared prefix.
#include "workloads/serving/sources.h"

#include "workloads/serving/block_trace.h"

namespace reprise::workloads::serving {

SourceInfo mooncake_info() {
  return {.name = "mooncake",
          .summary = "Mooncake's traces: times, lengths and which blocks of prompts are the same",
          .file = FileUse::kNeeded,
          .fields = {"requests", "window_start_s", "window_s", "unsorted_times", "length_divisor",
                     "most_prompt_tokens", "most_output_tokens", "too_long"},
          .is_timed = true};
}

std::unique_ptr<Entries> make_mooncake(const SourceOptions& options) {
  return read_block_trace({.source = "mooncake", .block_tokens = 512}, options,
                          [](JsonObject& line, BlockTrace& trace) {
                            const int64_t time_ms = line.integer_in("timestamp", 0, INT64_MAX);
                            trace.read(line, static_cast<double>(time_ms) * 1e-3);
                          });
}

}  // namespace reprise::workloads::serving
