// A function on a stack of its own that stops in the middle and goes on later.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>

namespace cuda_on_cpu {

class Fiber {
 public:
  Fiber() = default;
  Fiber(const Fiber&) = delete;  // a context points into itself
  Fiber& operator=(const Fiber&) = delete;

  // resume() will call entry(), which must not return: it ends with leave().
  void prepare(void* stack, size_t bytes, void (*entry)());
  // From outside: runs the fiber until it leaves.
  void resume();
  // From inside: back to who resumed it.
  void leave();

 private:
  ucontext_t start_{};
  jmp_buf inside_{}, outside_{};
  bool is_started_ = false;
};

}  // namespace cuda_on_cpu
