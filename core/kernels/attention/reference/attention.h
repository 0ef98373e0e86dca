// Attention by its definition, in double precision: the oracle of the attention kernels.
#pragma once

#include <vector>

#include "core/kernels/attention/attention.h"

namespace reprise::kernels::reference {

// softmax(scale * q k^T + bias + mask) v of each (row, head), over all keys that the plan's items
// show to the row, taken together. Returns [rows, heads * head_dim]. Same conventions as
// kernels::attention().
std::vector<double> attention(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
                              const AttentionParams& params);

}  // namespace reprise::kernels::reference
