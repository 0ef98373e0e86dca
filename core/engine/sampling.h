// Chooses the next token from logits: greedy, or drawn with temperature, top-k and top-p from a
// seeded stream.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/error.h"
#include "core/device/context.h"
#include "core/engine/request.h"

namespace reprise::engine {

// Thrown if a request's logits are NaN, which means that a weight or the cache is corrupt.
class BadLogits : public Error {
 public:
  BadLogits(RequestId request, size_t token);
  [[nodiscard]] RequestId request() const { return request_; }

 private:
  RequestId request_;
};

// Chooses a token from logits [vocab]. Greedy (temperature 0 or top_k 1) takes the largest logit;
// of equal ones, the one with the lowest id. Otherwise p = softmax(logits / temperature). Then
// min_p, top_k and top_p (a share of the remaining probability) drop tokens in this order, and one
// of the rest is drawn by p. The draw depends only on (seed, stream or request id, index), not on
// the rest of the batch. Does not apply options.rules, see sample_rows(). Throws BadLogits if a
// logit is NaN.
int32_t sample(std::span<const float> logits, const SamplingOptions& options, RequestId request,
               int32_t index);

// Returns the uniform number in [0, 1) that draws token `index` of the request.
double draw_unit(const SamplingOptions& options, RequestId request, int32_t index);

// One row of sample_rows(), with the arguments of sample().
struct SampleRow {
  std::span<const float> logits;  // [vocab]
  const SamplingOptions* options = nullptr;
  RequestId request = 0;
  int32_t index = 0;  // see sample()
  // Input of SamplingOptions::rules: the prompt's tokens, and the tokens generated so far.
  std::span<const int32_t> prompt = {}, generated = {};
};

// For each i, sets tokens[i] to sample() of rows[i] after applying options.rules to a copy of the
// logits. Rows run in parallel.
void sample_rows(std::span<const SampleRow> rows, std::span<int32_t> tokens,
                 const Context& context);

// Throws Error naming the option if a value is out of range.
void validate(const SamplingOptions& options);

}  // namespace reprise::engine
