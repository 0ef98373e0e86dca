// Compares norms with their definition in every instruction set.
#pragma once

#include <string>
#include <vector>

#include "core/kernels/norm/norm.h"
#include "core/kernels/norm/reference/norm.h"
#include "tests/core/kernels/norm/norm_bounds.h"
#include "tests/support/kernels.h"

namespace reprise::kernels::testing {

inline void check_norm(NormCall call, const std::string& what) {
  const std::vector<double> want = reference::norm(call);
  const std::vector<double> bound = reprise::testing::norm_bounds(call, want);
  for (Isa isa : reprise::testing::available_isas()) {
    Tensor out(call.out_dtype, {call.rows * call.cols});
    call.out = out.data();
    call.run({.threads = 2, .isa = isa});
    reprise::testing::expect_within(reprise::testing::values_of(out), want, bound,
                                    what + (call.is_rms ? " rms" : " layer") + " cols " +
                                        std::to_string(call.cols) + " isa " +
                                        std::string(name_of(isa)));
  }
}

}  // namespace reprise::kernels::testing
