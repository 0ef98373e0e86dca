// Cuts an attention plan to a range of its rows.
#pragma once

#include <cstdint>

#include "core/kv/plan.h"

namespace reprise::kv {

// Returns a finished plan for rows [first, end) of `plan`, which become rows 0, 1, ... It has all
// caches and segments of `plan`. It has the work items that cover any of these rows, cut to these
// rows. CHECKs the range.
[[nodiscard]] AttentionPlan cut_to_rows(const AttentionPlan& plan, int32_t first, int32_t end);

}  // namespace reprise::kv
