#include "tests/cuda_on_cpu/fiber.h"

#include "core/base/error.h"

namespace cuda_on_cpu {

void Fiber::prepare(void* stack, size_t bytes, void (*entry)()) {
  REPRISE_CHECK(getcontext(&inside_) == 0);
  inside_.uc_stack.ss_sp = stack;
  inside_.uc_stack.ss_size = bytes;
  inside_.uc_link = nullptr;
  makecontext(&inside_, entry, 0);
}

void Fiber::resume() { REPRISE_CHECK(swapcontext(&outside_, &inside_) == 0); }

void Fiber::leave() { REPRISE_CHECK(swapcontext(&inside_, &outside_) == 0); }

}  // namespace cuda_on_cpu
