// The order in which blocks, threads and streams go on, as the environment or a test sets it.
#pragma once

#include <cstdint>

#include "tests/cuda_on_cpu/include/cuda_on_cpu.h"

namespace cuda_on_cpu {

struct WantedOrder {
  Order order = Order::kForward;
  uint64_t seed = 0;
};
WantedOrder wanted_order();

// Draws whether another stream's work runs now; always false in the orders that are not random.
bool draws_work_beside();

}  // namespace cuda_on_cpu
