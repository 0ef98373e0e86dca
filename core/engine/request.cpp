#include "core/engine/request.h"

#include <algorithm>

#include "core/base/error.h"

namespace reprise::engine {

int64_t prompt_end(const Request& request) {
  const int64_t end =
      request.positions.empty()
          ? std::ssize(request.prompt)
          : int64_t{1} + *std::max_element(request.positions.begin(), request.positions.end());
  return std::max<int64_t>(end, request.least_length);
}

bool has_consecutive_positions(const Request& request) {
  const std::vector<int32_t>& positions = request.positions;
  const int64_t last = positions.empty() ? std::ssize(request.prompt) - 1 : positions.back();
  return prompt_end(request) == last + 1 &&
         std::adjacent_find(positions.begin(), positions.end(),
                            [](int64_t a, int64_t b) { return b != a + 1; }) == positions.end();
}

std::string name_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::kNone:
      return "none";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kRefused:
      return "refused";
    case FinishReason::kCancelled:
      return "cancelled";
  }
  REPRISE_CHECK(false, "finish reason {}", static_cast<int>(reason));
}

void require_served(std::span<const TokenEvent> events) {
  for (const TokenEvent& event : events)
    if (event.finish == FinishReason::kRefused) raise("{}", event.reason);
}

}  // namespace reprise::engine
