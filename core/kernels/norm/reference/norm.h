// RMSNorm and LayerNorm by their definition, in double precision: the oracle of the norm kernel.
#pragma once

#include <vector>

#include "core/kernels/norm/norm.h"

namespace reprise::kernels::reference {

// Returns the exact result of `call`, [rows, cols]. `call.out` is not written.
std::vector<double> norm(const NormCall& call);

}  // namespace reprise::kernels::reference
