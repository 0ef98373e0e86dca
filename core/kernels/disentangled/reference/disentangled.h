// The definition of core/kernels/disentangled/disentangled.h, in double precision.
#pragma once

#include <vector>

#include "core/kernels/disentangled/disentangled.h"

namespace reprise::kernels::reference {

// [rows, heads * head_dim] for `rows` rows of a step; 0 where no text has the row.
std::vector<double> disentangled(const DisentangledCall& call, int64_t rows);
// [heads, rows, keys]: what positions add to the scores; 0 where a text has no such token.
std::vector<double> disentangled_biases(const DisentangledCall& call, int64_t rows, int64_t keys);

}  // namespace reprise::kernels::reference
