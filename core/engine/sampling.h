// The next token from logits: greedy, or drawn with temperature, top-k and top-p from a seeded
// stream.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/error.h"
#include "core/device/context.h"
#include "core/engine/request.h"

namespace reprise::engine {

// A request's logits are NaN: what it reads, or a weight, is corrupt.
class BadLogits : public Error {
 public:
  BadLogits(RequestId request, size_t token);
  [[nodiscard]] RequestId request() const { return request_; }

 private:
  RequestId request_;
};

// logits [vocab]. Greedy takes the largest, the lowest id among equals. Otherwise: logits /
// temperature, softmax, the top_k most probable, of these the smallest set that reaches top_p, then
// one draw. The draw depends on (seed, stream, index) alone, where the request's id is the stream
// that the options do not name, so a token does not change with what else is in the batch. Throws
// BadLogits if a logit is NaN.
int32_t sample(std::span<const float> logits, const SamplingOptions& options, RequestId request,
               int32_t index);

// Where in [0, 1) the draw of such a token falls.
double draw_unit(const SamplingOptions& options, RequestId request, int32_t index);

// One row of a batch of draws.
struct SampleRow {
  std::span<const float> logits;  // [vocab]
  const SamplingOptions* options = nullptr;
  RequestId request = 0;
  int32_t index = 0;  // of the token, see sample()
};

// tokens[i] = sample() of rows[i], rows in parallel.
void sample_rows(std::span<const SampleRow> rows, std::span<int32_t> tokens,
                 const Context& context);

// Throws Error naming the option whose value makes no sense.
void validate(const SamplingOptions& options);

}  // namespace reprise::engine
