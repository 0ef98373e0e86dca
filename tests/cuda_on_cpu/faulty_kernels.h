// Tiny kernels that each do one thing that a device forbids, and similar kernels that do it
// correctly.
#pragma once

#include <span>

#include "tests/cuda_on_cpu/fault.h"

namespace reprise::kernels::cuda::faulty {

using cuda_on_cpu::FaultKind;

struct FaultyKernel {
  const char* name;
  FaultKind kind;
  const char* says;  // part of the report
  void (*run)();
};
std::span<const FaultyKernel> faulty_kernels();
std::span<const FaultyKernel> faulty_mbarriers();
std::span<const FaultyKernel> faulty_launches();

struct CleanKernel {
  const char* name;
  void (*run)();
};
std::span<const CleanKernel> clean_kernels();
std::span<const CleanKernel> clean_mbarriers();
std::span<const CleanKernel> clean_launches();

}  // namespace reprise::kernels::cuda::faulty
