// The weighted sum of rows by its definition, in double precision: the oracle of its kernels.
#pragma once

#include <vector>

#include "core/kernels/rows/combine_rows.h"

namespace reprise::kernels::reference {

// Returns the values that `call` leaves in its `out` [rows, cols], which is read but not written.
std::vector<double> combine_rows(const CombineRowsCall& call);

}  // namespace reprise::kernels::reference
