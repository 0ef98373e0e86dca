#include "core/kernels/routing/routing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/kernels/shared/for_rows.h"

namespace reprise::kernels {
namespace {

// Returns false if the logits contain NaN or +inf, or are all -inf.
bool has_softmax(const float* logits, int64_t experts) {
  float highest = -std::numeric_limits<float>::infinity();
  for (int64_t e = 0; e < experts; ++e) {
    if (std::isnan(logits[e])) return false;
    highest = std::max(highest, logits[e]);
  }
  return std::isfinite(highest);
}

// Writes the `per_row` experts of the largest logits to `chosen`, largest first. Of equal logits,
// the lower index comes first.
void choose(const float* logits, int64_t experts, int64_t per_row, int32_t* chosen) {
  int64_t count = 0;
  for (int64_t e = 0; e < experts; ++e) {
    int64_t at = count;
    while (at > 0 && logits[e] > logits[chosen[at - 1]]) --at;
    if (at == per_row) continue;
    count = std::min(count + 1, per_row);
    for (int64_t i = count - 1; i > at; --i) chosen[i] = chosen[i - 1];
    chosen[at] = static_cast<int32_t>(e);
  }
}

void route_row(const RoutingCall& call, int64_t row) {
  const float* logits = call.logits + row * call.experts;
  int32_t* chosen = call.chosen + row * call.per_row;
  float* weights = call.weights + row * call.per_row;
  if (!has_softmax(logits, call.experts)) {
    for (int64_t i = 0; i < call.per_row; ++i) {
      chosen[i] = static_cast<int32_t>(i);
      weights[i] = std::numeric_limits<float>::quiet_NaN();
    }
    return;
  }
  choose(logits, call.experts, call.per_row, chosen);
  const float highest = logits[chosen[0]];
  float sum = 0.0f;
  if (call.normalized) {  // the sum over all experts is not needed: it would cancel out
    for (int64_t i = 0; i < call.per_row; ++i) sum += std::exp(logits[chosen[i]] - highest);
  } else {
    for (int64_t e = 0; e < call.experts; ++e) sum += std::exp(logits[e] - highest);
  }
  for (int64_t i = 0; i < call.per_row; ++i)
    weights[i] = std::exp(logits[chosen[i]] - highest) / sum;
}

}  // namespace

void RoutingCall::run(const Context& context) const {
  require_device(context.device, "a router");
  REPRISE_CHECK(1 <= per_row && per_row <= experts, "{} of {} experts", per_row, experts);
  // Number of bytes that a core moves in the time of one exponential, about 10 ns.
  constexpr int64_t kBytesPerExpert = 256;
  for_rows(context, rows, experts * kBytesPerExpert, [&](int64_t row) { route_row(*this, row); });
}

void group_by_expert(std::span<const int32_t> chosen, int64_t per_row, int64_t experts,
                     ExpertGroups& groups) {
  REPRISE_CHECK(chosen.size() <= static_cast<size_t>(std::numeric_limits<int32_t>::max()),
                "{} pairs of row and expert", chosen.size());
  groups.begin.assign(static_cast<size_t>(experts) + 1, 0);
  groups.rows.resize(chosen.size());
  groups.places.resize(chosen.size());
  for (const int32_t expert : chosen) {
    REPRISE_CHECK(0 <= expert && expert < experts, "expert {} of {}", expert, experts);
    ++groups.begin[static_cast<size_t>(expert) + 1];
  }
  for (size_t e = 1; e < groups.begin.size(); ++e) groups.begin[e] += groups.begin[e - 1];
  // While the pairs of expert e are placed, begin[e] advances to the end of the expert's pairs; it
  // is moved back afterwards.
  for (size_t i = 0; i < chosen.size(); ++i) {
    const int32_t place = groups.begin[static_cast<size_t>(chosen[i])]++;
    groups.places[i] = place;
    groups.rows[static_cast<size_t>(place)] =
        static_cast<int32_t>(static_cast<int64_t>(i) / per_row);
  }
  for (size_t e = groups.begin.size() - 1; e > 0; --e) groups.begin[e] = groups.begin[e - 1];
  groups.begin[0] = 0;
}

}  // namespace reprise::kernels
