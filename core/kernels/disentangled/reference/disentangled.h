// Disentangled attention by its definition, in double precision: the oracle of the kernel.
#pragma once

#include <vector>

#include "core/kernels/disentangled/disentangled.h"

namespace reprise::kernels::reference {

// Returns [rows, heads * head_dim] for `rows` rows of a step; 0 for rows of no text.
std::vector<double> disentangled(const DisentangledCall& call, int64_t rows);
// Returns [heads, rows, keys]: the position terms of the scores; 0 if the text has no such token.
std::vector<double> disentangled_biases(const DisentangledCall& call, int64_t rows, int64_t keys);

}  // namespace reprise::kernels::reference
