// Attention maps by their definition, in double precision: the oracle of the map kernels.
#pragma once

#include <vector>

#include "core/kernels/attention_map/attention_map.h"

namespace reprise::kernels::reference {

// Returns the map [heads, rows, most_keys(plan)]. The arguments mean the same as those of
// kernels::attention_map().
std::vector<double> attention_map(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
                                  const AttentionParams& params, const float* bias);

// Returns [rows, heads * head_dim]. The arguments mean the same as those of kernels::apply_map().
std::vector<double> apply_map(const kv::AttentionPlan& plan, int64_t layer,
                              std::span<const RowMap> maps, int64_t heads);

}  // namespace reprise::kernels::reference
