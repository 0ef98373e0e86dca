// Whether a request can be served at all.
#pragma once

#include <cstdint>
#include <string>

#include "core/engine/request.h"
#include "core/model/config/config.h"

namespace reprise::engine {

// Why it cannot, naming what was found and what is accepted; "" where nothing speaks against it.
// `is_of_prefill_alone`: see model::LayerPolicy.
[[nodiscard]] std::string refusal_of(const Request& request, const model::ModelConfig& config,
                                     int32_t max_sequence_tokens,
                                     bool is_of_prefill_alone = false);

}  // namespace reprise::engine
