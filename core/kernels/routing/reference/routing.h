// The router by its definition, in double precision: the oracle of its kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kernels/routing/routing.h"

namespace reprise::kernels::reference {

struct Routing {
  std::vector<int32_t> chosen;  // [rows, per_row]
  std::vector<double> weights;  // [rows, per_row]
};

// Returns the exact result of `call`. `call.chosen` and `call.weights` are not written.
Routing routing(const RoutingCall& call);

}  // namespace reprise::kernels::reference
