// A fault that a check of memory found, before kernel and thread are known.
#pragma once

#include <optional>
#include <string>

#include "tests/cuda_on_cpu/fault.h"

namespace cuda_on_cpu {

struct Finding {
  FaultKind kind;
  std::string text;
};
using MaybeFinding = std::optional<Finding>;

}  // namespace cuda_on_cpu
