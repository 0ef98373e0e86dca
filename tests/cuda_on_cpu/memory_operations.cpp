// Accesses that are function calls (shared variables, asynchronous copies, atomics and PTX loads),
// and the check that all accesses share.
#include "tests/cuda_on_cpu/memory_operations.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/cuda_on_cpu/buffers.h"
#include "tests/cuda_on_cpu/include/cuda_bf16.h"
#include "tests/cuda_on_cpu/include/cuda_fp16.h"
#include "tests/cuda_on_cpu/include/cuda_runtime.h"

extern "C" const char __executable_start, _end;  // of the program's own data, from the linker

namespace cuda_on_cpu {
namespace {

bool is_constant(const void* address) {
  return address >= static_cast<const void*>(&__executable_start) &&
         address < static_cast<const void*>(&_end);
}

std::string text_of(const Access& access) {
  return fmt::format("{} {} bytes {}",
                     access.how == Touch::kRead    ? "reads"
                     : access.how == Touch::kWrite ? "writes"
                                                   : "updates atomically",
                     access.bytes, access.place.text());
}

void finish_copies(const std::vector<AsyncCopy>& copies) {
  Block& block = *Block::running();
  for (const AsyncCopy& copy : copies) {
    std::memset(copy.to, 0, copy.bytes);
    if (copy.source_bytes > 0) std::memcpy(copy.to, copy.from, copy.source_bytes);
    block.shared().end_copy(copy.to, copy.bytes, block.accessor(block.thread().number).at);
  }
}

template <typename T, typename Update>
T update_atomically(T* address, const Update& update, const void* code) {
  const InEmulator in_emulator;
  check_access({address, sizeof(T), sizeof(T), Touch::kAtomic, {.code = code}});
  Block& block = *Block::running();
  if (!block.shared().contains(address))
    block.blocks().update_atomically(block.thread().number, address);
  const T before = *address;
  *address = update(before);
  return before;
}

}  // namespace

void check_access(const Access& access) {
  Block& block = *Block::running();
  if (block.is_own_stack(access.address, access.bytes)) return;  // atomics, reads by PTX
  if (reinterpret_cast<uintptr_t>(access.address) % access.alignment != 0)
    block.report(FaultKind::kUnaligned,
                 fmt::format("{} at {}, which is no multiple of {}", text_of(access),
                             access.address, access.alignment));
  const Accessor who = block.accessor(block.thread().number);
  if (block.shared().contains(access.address)) {
    const MaybeFinding finding =
        block.shared().touch(access.address, access.bytes, access.how, who);
    if (finding) block.report_if(finding, text_of(access));
    return;
  }
  if (block.is_any_stack(access.address))
    block.report(FaultKind::kOutOfBounds, text_of(access) + ", beyond its own local memory");
  if (access.how == Touch::kRead &&
      (block.is_parameter(access.address, access.bytes) || is_constant(access.address)))
    return;
  if (access.how != Touch::kRead && block.must_await_kernels())
    block.report(FaultKind::kRace, text_of(access) +
                                       " before it has waited for the kernels before it "
                                       "(await_previous_kernels()), which may still use them");
  if (const MaybeFinding finding =
          Buffers::all().touch(access.address, access.bytes, access.how, who, block.since()))
    block.report_if(finding, text_of(access));
  if (access.how == Touch::kWrite) block.blocks().write(access.address, access.bytes);
}

void* dynamic_shared() { return Block::running()->shared().dynamic(); }

void* shared_variable(const void* key, size_t bytes, size_t alignment) {
  const InEmulator in_emulator;
  Block& block = *Block::running();
  void* variable = block.shared().variable(key, bytes, alignment);
  if (variable == nullptr)
    block.report(FaultKind::kLaunch,
                 fmt::format("declares {} bytes of shared variables too many: at most {} in all, "
                             "and {} with the dynamic memory",
                             bytes, SharedMemory::kMostStaticBytes, SharedMemory::kMostBytes));
  return variable;
}

void await_previous_kernels() { Block::running()->await_kernels(); }

void copy_async(void* shared, const void* global, int bytes, int source_bytes) {
  const InEmulator in_emulator;
  Block& block = *Block::running();
  const Place place{.code = __builtin_return_address(0)};
  const Accessor who = block.accessor(block.thread().number);
  const auto size = static_cast<size_t>(bytes), source = static_cast<size_t>(source_bytes);
  const std::string doing = fmt::format("copies {} of {} bytes asynchronously", source, size);
  if (source > size) block.report(FaultKind::kOutOfBounds, doing + " " + place.text());
  if (!block.shared().contains(shared))
    block.report(FaultKind::kOutOfBounds,
                 fmt::format("{} to where is no shared memory {}", doing, place.text()));
  for (const void* end : {static_cast<const void*>(shared), global})
    if (reinterpret_cast<uintptr_t>(end) % size != 0)
      block.report(FaultKind::kUnaligned,
                   fmt::format("{} {}: {} is no multiple of {}", doing, place.text(), end, size));
  if (source > 0)
    if (const MaybeFinding finding =
            Buffers::all().touch(global, source, Touch::kRead, who, block.since()))
      block.report_if(finding, doing + " " + place.text());
  const MaybeFinding finding = block.shared().begin_copy(shared, size, who);
  if (finding) block.report_if(finding, doing + " " + place.text());
  block.thread().open_copies.push_back({shared, global, size, source});
}

void copy_async_commit() {
  const InEmulator in_emulator;
  Thread& thread = Block::running()->thread();
  thread.copy_groups.push_back(std::move(thread.open_copies));
  thread.open_copies.clear();
}

void copy_async_wait(int most_pending) {
  const InEmulator in_emulator;
  Thread& thread = Block::running()->thread();
  while (thread.copy_groups.size() > static_cast<size_t>(most_pending)) {
    finish_copies(thread.copy_groups.front());
    thread.copy_groups.pop_front();
  }
}

uint4 load_global_16(const void* global) {
  const InEmulator in_emulator;
  Block& block = *Block::running();
  const Access access{global, 16, 16, Touch::kRead, {.code = __builtin_return_address(0)}};
  if (block.shared().contains(global))
    block.report(FaultKind::kOutOfBounds,
                 text_of(access) + ": ld.global of an address in shared memory");
  check_access(access);
  return *static_cast<const uint4*>(global);
}

float exp2_approx(float x) {
  const auto y = static_cast<float>(std::exp2(static_cast<double>(x)));
  return y < 0x1p-126f ? 0.0f : y;  // NaN is not less
}

uint32_t pack_pair(float low, float high, bool is_bf16) {
  const auto bits = [&](float value) -> uint32_t {
    return is_bf16 ? __nv_bfloat16(value).bits : __half(value).bits;
  };
  return bits(low) | bits(high) << 16;
}

// Rounds to f32 in between. This changes a result only if it lies within 2^-24 of the middle
// between two 16-bit numbers.
uint32_t multiply_add_pairs(uint32_t a, uint32_t b, uint32_t c, bool is_bf16) {
  const auto half = [&](uint32_t pair, int shift) -> float {
    const auto bits = static_cast<uint16_t>(pair >> shift);
    if (is_bf16) return __ushort_as_bfloat16(bits);
    return __ushort_as_half(bits);
  };
  const auto sum = [&](int shift) {
    return std::fma(half(a, shift), half(b, shift), half(c, shift));
  };
  return pack_pair(sum(0), sum(16), is_bf16);
}

}  // namespace cuda_on_cpu

using cuda_on_cpu::update_atomically;

void __threadfence() {
  const cuda_on_cpu::InEmulator in_emulator;
  cuda_on_cpu::Block::running()->fence();
}

int atomicAdd(int* address, int value) {
  return update_atomically(
      address, [&](int old) { return old + value; }, __builtin_return_address(0));
}
unsigned atomicAdd(unsigned* address, unsigned value) {
  return update_atomically(
      address, [&](unsigned old) { return old + value; }, __builtin_return_address(0));
}
unsigned long long atomicAdd(unsigned long long* address, unsigned long long value) {
  return update_atomically(
      address, [&](unsigned long long old) { return old + value; }, __builtin_return_address(0));
}
unsigned atomicInc(unsigned* address, unsigned last) {
  return update_atomically(
      address, [&](unsigned old) { return old >= last ? 0 : old + 1; },
      __builtin_return_address(0));
}
float atomicAdd(float* address, float value) {
  return update_atomically(
      address, [&](float old) { return old + value; }, __builtin_return_address(0));
}
int atomicMax(int* address, int value) {
  return update_atomically(
      address, [&](int old) { return old < value ? value : old; }, __builtin_return_address(0));
}
unsigned atomicMax(unsigned* address, unsigned value) {
  return update_atomically(
      address, [&](unsigned old) { return old < value ? value : old; },
      __builtin_return_address(0));
}
