// The MLP's activation functions by their definition, in double precision: the oracle of the
// activation kernel.
#pragma once

#include <vector>

#include "core/kernels/activation/activation.h"

namespace reprise::kernels::reference {

double activate(ActivationKind kind, double x);

// Returns the exact result of `call`, [rows, cols]. `call.out` is not written.
std::vector<double> activation(const ActivationCall& call);

}  // namespace reprise::kernels::reference
