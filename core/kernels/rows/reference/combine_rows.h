// The weighted sum of rows by its definition, in double precision: the oracle of its kernels.
#pragma once

#include <vector>

#include "core/kernels/rows/combine_rows.h"

namespace reprise::kernels::reference {

// `call`'s out after it ran, [rows, cols]; its `out` is read.
std::vector<double> combine_rows(const CombineRowsCall& call);

}  // namespace reprise::kernels::reference
