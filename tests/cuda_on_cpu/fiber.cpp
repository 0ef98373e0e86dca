// ucontext starts a fiber on its stack; from then on it is switched by _setjmp and _longjmp, which
// unlike swapcontext() save no signal mask: a system call each time would take most of a test.
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
