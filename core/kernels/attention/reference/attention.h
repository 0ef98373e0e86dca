// Attention by its definition, in double precision: the oracle of the attention kernels.
#pragma once

#include <vector>

#include "core/kernels/attention/attention.h"
#include "core/kernels/attention/rounding.h"

namespace reprise::kernels::reference {

// Returns [rows, heads * head_dim]: for each (row, head), softmax(scale * q k^T + bias + mask) v
// over all keys that any item of the plan shows to the row. The arguments mean the same as those of
// kernels::attention().
std::vector<double> attention(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
                              const AttentionParams& params);

struct ExactRows {
  std::vector<double> outputs;   // [rows, heads * head_dim]
  std::vector<ExactHead> heads;  // [rows, heads]; all 0 where a row sees no key
};
// Computes the outputs of attention(), and the values that bound the rounding errors of a kernel's
// outputs.
ExactRows attention_with_errors(const kv::AttentionPlan& plan, int64_t layer, const QueryView& q,
                                const AttentionParams& params);

}  // namespace reprise::kernels::reference
