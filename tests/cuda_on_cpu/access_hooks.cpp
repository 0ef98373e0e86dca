// GCC puts calls before every load and store (-fsanitize=thread) and before accesses whose address
// may be unaligned for their type (-fsanitize=alignment). The functions called are defined here and
// make the emulator's checks. Outside kernels they do nothing.
#include <fmt/core.h>

#include <cstddef>
#include <cstdint>

#include "tests/cuda_on_cpu/memory_operations.h"

namespace cuda_on_cpu {
namespace {

void check(const void* address, size_t bytes, size_t alignment, Touch how, const void* code) {
  Block* block = Block::running();
  if (block == nullptr || !block->is_in_kernel()) return;
  if (block->is_own_stack(address, bytes)) return;  // most are
  const InEmulator in_emulator;
  check_access({address, bytes, alignment, how, {.code = code}});
}

// The part that is used here of the data that GCC passes for -fsanitize=alignment.
struct TypeMismatch {
  struct {
    const char* file;
    uint32_t line, column;
  } place;
  const void* type;
  unsigned char log2_alignment;
};

void report_unaligned(const TypeMismatch& mismatch, uintptr_t address) {
  Block* block = Block::running();
  if (block == nullptr || !block->is_in_kernel()) return;
  const InEmulator in_emulator;
  block->report(
      FaultKind::kUnaligned,
      fmt::format("uses {:#x} where a multiple of {} is needed, at {}:{}", address,
                  size_t{1} << mismatch.log2_alignment, mismatch.place.file, mismatch.place.line));
}

}  // namespace
}  // namespace cuda_on_cpu

using cuda_on_cpu::Touch;

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

#define CUDA_ON_CPU_HOOKS(bytes)                                                           \
  void __tsan_read##bytes(void* address) {                                                 \
    cuda_on_cpu::check(address, bytes, bytes, Touch::kRead, __builtin_return_address(0));  \
  }                                                                                        \
  void __tsan_write##bytes(void* address) {                                                \
    cuda_on_cpu::check(address, bytes, bytes, Touch::kWrite, __builtin_return_address(0)); \
  }                                                                                        \
  void __tsan_unaligned_read##bytes(void* address) {                                       \
    cuda_on_cpu::check(address, bytes, 1, Touch::kRead, __builtin_return_address(0));      \
  }                                                                                        \
  void __tsan_unaligned_write##bytes(void* address) {                                      \
    cuda_on_cpu::check(address, bytes, 1, Touch::kWrite, __builtin_return_address(0));     \
  }
CUDA_ON_CPU_HOOKS(1)
CUDA_ON_CPU_HOOKS(2)
CUDA_ON_CPU_HOOKS(4)
CUDA_ON_CPU_HOOKS(8)
CUDA_ON_CPU_HOOKS(16)
#undef CUDA_ON_CPU_HOOKS

void __tsan_read_range(void* address, size_t bytes) {
  cuda_on_cpu::check(address, bytes, 1, Touch::kRead, __builtin_return_address(0));
}
void __tsan_write_range(void* address, size_t bytes) {
  cuda_on_cpu::check(address, bytes, 1, Touch::kWrite, __builtin_return_address(0));
}

void __ubsan_handle_type_mismatch_v1(const void* data, void* address) {
  cuda_on_cpu::report_unaligned(*static_cast<const cuda_on_cpu::TypeMismatch*>(data),
                                reinterpret_cast<uintptr_t>(address));
}
void __ubsan_handle_type_mismatch_v1_abort(const void* data, void* address) {
  __ubsan_handle_type_mismatch_v1(data, address);
}

}  // extern "C"
