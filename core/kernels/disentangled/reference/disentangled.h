// Disentangled attention by its definition, in double precision: the oracle of the kernel.
#pragma once

#include <vector>

#include "core/kernels/disentangled/disentangled.h"

namespace reprise::kernels::reference {

// Returns the outputs [rows, heads * head_dim] of a step of `rows` rows. Rows that belong to no
// text are 0.
std::vector<double> disentangled(const DisentangledCall& call, int64_t rows);
// Returns the position terms of the scores, [heads, rows, keys]. The term of a token that a row's
// text does not have is 0.
std::vector<double> disentangled_biases(const DisentangledCall& call, int64_t rows, int64_t keys);

}  // namespace reprise::kernels::reference
