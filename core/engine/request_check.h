// Checks whether a request can be served at all.
#pragma once

#include <cstdint>
#include <string>

#include "core/engine/request.h"
#include "core/model/config/config.h"

namespace reprise::engine {

// The limits of an engine that a request must meet.
struct RequestLimits {
  int32_t max_sequence_tokens = 0;
  bool is_of_prefill_alone = false;  // see model::LayerPolicy
  bool is_batch_invariant = false;   // see Context
};

// Returns the reason why the request cannot be served, with the value found and the values
// accepted; "" if it can be served. The reason begins with `subject`, such as "request 7".
[[nodiscard]] std::string refusal_of(const std::string& subject, const Request& request,
                                     const model::ModelConfig& config, const RequestLimits& limits);

}  // namespace reprise::engine
