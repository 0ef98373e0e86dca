// ucontext starts a fiber on its stack. Later switches use _setjmp and _longjmp. Unlike
// swapcontext() they do not save a signal mask, which is a system call; such a call at each switch
// would take most of a test's time.
#include "tests/cuda_on_cpu/fiber.h"

#include "core/base/error.h"

namespace cuda_on_cpu {

void Fiber::prepare(void* stack, size_t bytes, void (*entry)()) {
  REPRISE_CHECK(getcontext(&start_) == 0);
  start_.uc_stack.ss_sp = stack;
  start_.uc_stack.ss_size = bytes;
  start_.uc_link = nullptr;
  makecontext(&start_, entry, 0);
  is_started_ = false;
}

void Fiber::resume() {
  if (_setjmp(outside_) != 0) return;  // it has left
  if (is_started_) _longjmp(inside_, 1);
  is_started_ = true;
  setcontext(&start_);
}

void Fiber::leave() {
  if (_setjmp(inside_) == 0) _longjmp(outside_, 1);
}

}  // namespace cuda_on_cpu
