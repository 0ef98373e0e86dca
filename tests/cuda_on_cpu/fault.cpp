#include "tests/cuda_on_cpu/fault.h"

namespace cuda_on_cpu {

const char* name_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::kOutOfBounds:
      return "out of bounds";
    case FaultKind::kFreed:
      return "freed memory";
    case FaultKind::kUnaligned:
      return "unaligned access";
    case FaultKind::kUninitialized:
      return "shared memory never written";
    case FaultKind::kRace:
      return "race";
    case FaultKind::kInFlight:
      return "asynchronous copy under way";
    case FaultKind::kBarrier:
      return "barrier";
    case FaultKind::kWarp:
      return "warp operation";
    case FaultKind::kDeadlock:
      return "deadlock";
    case FaultKind::kLaunch:
      return "launch";
    case FaultKind::kCall:
      return "call of the runtime API";
  }
  return "";
}

}  // namespace cuda_on_cpu
