// The router and the sum of experts by their definitions, in double precision: the oracles of those
// kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kernels/routing/routing.h"
#include "core/kernels/rows/combine_rows.h"

namespace reprise::kernels::reference {

struct Routing {
  std::vector<int32_t> chosen;  // [rows, per_row]
  std::vector<double> weights;  // [rows, per_row]
};

// What `call` promises; its `chosen` and `weights` are not touched.
Routing routing(const RoutingCall& call);

// `call`'s out after it ran, [rows, cols]; its `out` is read.
std::vector<double> combine_rows(const CombineRowsCall& call);

}  // namespace reprise::kernels::reference
