// Choices of a source, each drawn by its number alone.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// What is drawn; each has a stream of its own, apart from that of the tokens.
enum class Draw : uint64_t {
  kGroup = 1,
  kFewShot,
  kDocument,
  kUserTokens,
  kOutputTokens,
  kTurns,
  kNextTurn,
  kSample,
  kOrder
};

// Uniform in [0, 1).
double draw_unit(uint64_t seed, Draw what, int64_t number);

// The first `chosen` <= count of a permutation of 0, 1, ..., count - 1; a larger `chosen` begins
// with the same numbers.
std::vector<uint32_t> permuted(int64_t count, int64_t chosen, uint64_t seed, Draw what);

// A choice of k = 1, ..., count in proportion to 1 / k^exponent.
class ZipfChoice {
 public:
  ZipfChoice(int64_t count, double exponent);
  // 0, ..., count - 1, of a uniform number.
  [[nodiscard]] int64_t choose(double unit) const;

 private:
  std::vector<double> up_to_;  // empty: all alike
  int64_t count_;
};

// A length that is fixed, or drawn evenly from low to high, both included.
struct LengthRange {
  int64_t low = 0, high = 0;

  [[nodiscard]] int64_t draw(uint64_t seed, Draw what, int64_t number) const;
};

// Of the fields NAME and NAME_most. Throws Error where NAME is not given, or above NAME_most.
LengthRange length_range(const char* source, const char* name, int64_t low, int64_t most);
// Throws Error where a field is not given.
void require_given(const char* source, const char* name, int64_t value);

// Whether a prompt and an output are longer than the options' caps.
bool is_too_long(const SourceOptions& options, int64_t prompt_tokens, int64_t output_tokens);
// A recorded length, divided.
int64_t divided(int64_t tokens, double divisor);

// Calls `take` for numbers below `count`, in the order of the sample's permutation, until it has
// said true `options.requests` times; 0: for all. For entries that are dear to look at.
void sample_entries(int64_t count, const SourceOptions& options,
                    const std::function<bool(int64_t number)>& take);

}  // namespace reprise::workloads::serving
