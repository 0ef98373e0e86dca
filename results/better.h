// Which way a metric is better, so that a change can be called one for the better.
#pragma once

#include <cstdint>
#include <string>

namespace reprise::results {

enum class Better : uint8_t { kLower, kHigher, kUnknown };

// By what the metric is: times, memory, errors and what is over a limit are better low; rates,
// speedups, scores, agreement and shares of a limit are better high. kUnknown for what describes
// the problem or the machine (counts of tokens, theory, rates measured beside). `name` may be a
// percentile's, "ttft_ms.p99".
[[nodiscard]] Better better_of(const std::string& name, const std::string& unit);

}  // namespace reprise::results
