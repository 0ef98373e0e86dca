// A function with a stack of its own, which can stop in the middle and go on later.
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
  // Runs the fiber until it calls leave(). Called from outside.
  void resume();
  // Returns to the caller of resume(). Called from inside.
  void leave();

 private:
  ucontext_t start_{};
  jmp_buf inside_{}, outside_{};
  bool is_started_ = false;
};

}  // namespace cuda_on_cpu
