// The faults that the emulator reports: the first operation of a kernel that a device forbids or
// leaves undefined.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace cuda_on_cpu {

enum class FaultKind : uint8_t {
  kOutOfBounds,    // outside every buffer, shared variable and the thread's own stack
  kFreed,          // a buffer after cudaFree
  kUnaligned,      // an address that is no multiple of what the access needs
  kUninitialized,  // shared memory that this block has not written
  kRace,           // shared memory: two threads, one writes, and no barrier between them
  kInFlight,       // shared memory that a cp.async writes which nobody has waited for
  kBarrier,        // __syncthreads() that not all threads of the block reach
  kWarp,           // a warp operation whose lanes do not do the same
  kDeadlock,       // every thread that is left waits
  kLaunch,         // a grid, block or shared memory that no device takes
  kCall            // a call of the runtime API that every device refuses
};

// "out of bounds", "race" and so on.
const char* name_of(FaultKind kind);

// Thrown by the launch. The text names the kernel, block and thread, the operation, and its place
// in the source.
class Fault : public std::runtime_error {
 public:
  Fault(FaultKind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
  [[nodiscard]] FaultKind kind() const { return kind_; }

 private:
  FaultKind kind_;
};

}  // namespace cuda_on_cpu
