// What happened to each request of a serving run, by one clock, whoever served it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reprise::experiments::serving {

enum class Outcome : uint8_t { kServed, kRefused, kFailed, kCancelled, kExpired };

// Times are seconds from the start of the run; below 0: it did not happen.
struct RequestEntry {
  int64_t index = 0;            // in its RequestSource
  double intended_s = 0;        // when it was meant to be sent: latency counts from here
  double sent_s = -1;           // handed to the engine, or written to the connection
  double admitted_s = -1;       // joined the batch for the first time; of engines that tell
  std::vector<double> token_s;  // of each token, ascending; of one step, the same
  // Between the first and the last of token_s, whose times were not kept: of runs of very many
  // requests.
  int64_t unkept_tokens = 0;
  double done_s = -1;
  int64_t prompt_tokens = 0;   // that were asked for; as the server counts them, where it tells
  int64_t wanted_tokens = 0;   // to generate
  int64_t cached_tokens = -1;  // of the prompt, not computed; -1: the server does not tell
  int64_t preemptions = 0;
  Outcome outcome = Outcome::kServed;
  std::string reason;           // of all but kServed
  std::vector<int32_t> tokens;  // generated, where they are known and kept

  [[nodiscard]] int64_t generated() const {
    return static_cast<int64_t>(token_s.size()) + unkept_tokens;
  }
};

// Of one step of an engine that tells.
struct StepEntry {
  double start_s = 0, end_s = 0;
  int64_t prefill_tokens = 0, decode_tokens = 0;
  int64_t batch = 0, waiting = 0, preempted = 0;
  int64_t kv_bytes = 0;     // of blocks in use, before those that end with it give theirs back
  double scheduling_s = 0;  // of its time, that of everything but the model's arithmetic
  // Keys that its decoding sequences see, summed over them, and of these the ones that nobody read
  // for them alone: what was read for n sequences at once counts n - 1 times. Of the others, those
  // that were read before in the same step, for another sequence.
  int64_t context_tokens = 0, shared_tokens = 0, repeated_tokens = 0;
};

struct RequestLog {
  std::vector<RequestEntry> requests;  // by index
  std::vector<StepEntry> steps;        // empty: the server does not tell
};

}  // namespace reprise::experiments::serving
