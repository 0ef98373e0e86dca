// Checks whether a request can be served at all.
#pragma once

#include <cstdint>
#include <string>

#include "core/engine/request.h"
#include "core/model/config/config.h"

namespace reprise::engine {

// Returns the reason why the request cannot be served, with the value found and the values
// accepted; "" if it can be served. The reason begins with `subject`, such as "request 7".
// `is_of_prefill_alone` comes from model::LayerPolicy.
[[nodiscard]] std::string refusal_of(const std::string& subject, const Request& request,
                                     const model::ModelConfig& config, int32_t max_sequence_tokens,
                                     bool is_of_prefill_alone = false);

}  // namespace reprise::engine
