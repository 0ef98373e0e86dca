// The log of a serving run on any server: the times of each request, all by one clock, and its
// tokens.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reprise::experiments::serving {

enum class Outcome : uint8_t { kServed, kRefused, kFailed, kCancelled };

// Times are seconds from the start of the run; below 0: it did not happen.
struct RequestEntry {
  int64_t index = 0;            // index in its RequestSource
  double intended_s = 0;        // intended time of sending: latency counts from here
  double sent_s = -1;           // handed to the engine, or written to the connection
  double admitted_s = -1;       // joined the batch for the first time, if reported
  std::vector<double> token_s;  // time of each token, ascending; equal within a step
  // Number of tokens whose times were not kept in token_s. In runs of very many requests these are
  // all tokens between the first and the last.
  int64_t unkept_tokens = 0;
  double done_s = -1;
  int64_t prompt_tokens = 0;  // as the server counts them, if it reports them
  int64_t wanted_tokens = 0;  // tokens to generate
  // Prompt tokens that were not computed; -1: not reported. May be kUsageWithoutCached (reuse.h)
  // until settle_cached_tokens() has seen all answers of the run.
  int64_t cached_tokens = -1;
  int64_t preemptions = 0;
  std::vector<size_t> preempted_before = {};  // index of the first token after each preemption
  int64_t reasoning_tokens = 0;               // generated tokens that the server calls reasoning
  Outcome outcome = Outcome::kServed;
  std::string reason;           // reason for any outcome other than kServed
  std::vector<int32_t> tokens;  // generated, if they are known and kept

  [[nodiscard]] int64_t generated() const {
    return static_cast<int64_t>(token_s.size()) + unkept_tokens;
  }
};

// One step of an engine that reports its steps.
struct StepEntry {
  double start_s = 0, end_s = 0;
  int64_t prefill_tokens = 0, decode_tokens = 0;
  int64_t batch = 0, waiting = 0, preempted = 0;
  int64_t read_bytes = 0;   // keys and values that the plan reads, all layers
  int64_t kv_bytes = 0;     // bytes in use, before sequences that end release theirs
  double scheduling_s = 0;  // part of the step's time that is not the model's arithmetic
  // Numbers of keys in the attention of decoding sequences. context_tokens: the keys that each
  // sequence sees, summed over sequences. shared_tokens: the reads that sharing saves, n - 1 for
  // each key that is read once for n sequences. repeated_tokens: the reads of keys that the same
  // step has already read for another sequence.
  int64_t context_tokens = 0, shared_tokens = 0, repeated_tokens = 0;
};

// One execution of a kernel in this process. Times are seconds from the start of the run.
struct KernelEntry {
  const char* name;
  double start_s = 0, end_s = 0;
};

struct RequestLog {
  double start_s = 0;  // the run's start, by its clock (steady_now_ns() unless time is simulated)
  // Ascending by index. Request i is at index i, except in a run of sessions that ended early: it
  // may lack requests in between.
  std::vector<RequestEntry> requests;
  std::vector<StepEntry> steps;      // empty: the server does not report them
  std::vector<KernelEntry> kernels;  // the first ones of a traced run, otherwise empty
};

}  // namespace reprise::experiments::serving
