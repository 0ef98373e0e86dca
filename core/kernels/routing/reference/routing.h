// The router and the combination of experts by their definitions, in double precision: the oracles
// of those kernels.
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

// The result that `call` promises; its `chosen` and `weights` are not written.
Routing routing(const RoutingCall& call);

// The content of call.out after the call, [rows, cols]; reads call.out and does not write it.
std::vector<double> combine_rows(const CombineRowsCall& call);

}  // namespace reprise::kernels::reference
