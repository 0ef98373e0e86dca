// Decides which direction of a metric is an improvement.
#pragma once

#include <cstdint>
#include <string>

namespace reprise::results {

enum class Better : uint8_t { kLower, kHigher, kUnknown };

// Decides by name and unit. Lower is better for times, memory, errors and exceeded limits; higher
// for rates, speedups, scores, agreement and shares of a limit. kUnknown for values that describe
// the problem or the machine: token counts, theory, rates of the machine measured beside the work.
// `name` may be a percentile, "ttft_ms.p99".
[[nodiscard]] Better better_of(const std::string& name, const std::string& unit);

}  // namespace reprise::results
