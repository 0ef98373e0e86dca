// RMSNorm and LayerNorm by their definition, in double precision: the oracle of the norm kernel.
#pragma once

#include <vector>

#include "core/kernels/norm/norm.h"

namespace reprise::kernels::reference {

// What `call` promises, [rows, cols]; its `out` is not touched.
std::vector<double> norm(const NormCall& call);

}  // namespace reprise::kernels::reference
