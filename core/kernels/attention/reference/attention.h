// Attention by its definition, in double precision: the oracle of the attention kernels.
#pragma once

#include <vector>

#include "core/kernels/attention/attention.h"
#include "core/kernels/attention/rounding.h"

namespace reprise::kernels::reference {

// softmax(scale * q k^T + bias + mask) v of each (row, head), over all keys that the plan's items
// show to the row, taken together. Returns [rows, heads * head_dim]. Same conventions as
// kernels::attention().
std::vector<double> attention(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
                              const AttentionParams& params);

struct ExactRows {
  std::vector<double> outputs;   // [rows, heads * head_dim]
  std::vector<ExactHead> heads;  // [rows, heads]; all 0 where a row sees no key
};
// Computes the same outputs, and the values that bound their rounding errors.
ExactRows attention_with_errors(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
                                const AttentionParams& params);

}  // namespace reprise::kernels::reference
