// Random choices of a request source. Each choice depends only on a seed, a kind (Draw) and a
// number.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// The kinds of draws. Each kind has a random stream of its own, separate from the stream of the
// tokens.
enum class Draw : uint64_t {
  kGroup = 1,
  kFewShot,
  kDocument,
  kUserTokens,
  kOutputTokens,
  kTurns,
  kNextTurn,
  kSample,
  kOrder,
  kNovelty,
  kRepeated
};

// Uniform in [0, 1).
double draw_unit(uint64_t seed, Draw what, int64_t number);

// Returns the first `chosen` <= count entries of a permutation of 0 to count - 1. With a larger
// `chosen`, more entries follow the same first ones.
std::vector<uint32_t> permuted(int64_t count, int64_t chosen, uint64_t seed, Draw what);

// Chooses k = 1, ..., count with probability proportional to 1 / k^exponent.
class ZipfChoice {
 public:
  ZipfChoice(int64_t count, double exponent);
  // Returns k - 1, from 0 to count - 1, for a uniform number `unit` in [0, 1).
  [[nodiscard]] int64_t choose(double unit) const;

 private:
  std::vector<double> up_to_;  // cumulative probabilities; empty: uniform
  int64_t count_;
};

// A length that is fixed, or uniform from low to high, both included.
struct LengthRange {
  int64_t low = 0, high = 0;

  [[nodiscard]] int64_t draw(uint64_t seed, Draw what, int64_t number) const;
};

// Makes the range of the fields NAME and NAME_most. Throws Error if NAME is not given or is above
// NAME_most.
LengthRange length_range(const char* source, const char* name, int64_t low, int64_t most);
// Throws Error if a field is not given.
void require_given(const char* source, const char* name, int64_t value);

// True if the prompt or the output exceeds the options' caps. `prompt_tokens` includes the salt.
bool is_too_long(const SourceOptions& options, int64_t prompt_tokens, int64_t output_tokens);
// Returns a recorded length divided by `divisor`, rounded, and at least 1.
int64_t divided(int64_t tokens, double divisor);

// Calls `take` with the numbers below `count`, in an order drawn by the prompts' seed, until `take`
// has returned true options.requests times (0: with all numbers). For sources whose entries take
// long to read: only those of the sample are read.
void sample_entries(int64_t count, const SourceOptions& options,
                    const std::function<bool(int64_t number)>& take);

}  // namespace reprise::workloads::serving
