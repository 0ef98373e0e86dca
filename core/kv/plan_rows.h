// The part of an attention plan that a range of its rows needs.
#pragma once

#include <cstdint>

#include "core/kv/plan.h"

namespace reprise::kv {

// Returns the finished plan of rows [first, end) of `plan`, numbered from 0. It has all caches and
// segments of `plan`, and the items that cover any of these rows, cut to them. CHECKs the range.
[[nodiscard]] AttentionPlan cut_to_rows(const AttentionPlan& plan, int32_t first, int32_t end);

}  // namespace reprise::kv
