// Looks up rows of a table by token id.
#pragma once

#include <cstdint>
#include <span>

#include "core/device/context.h"
#include "core/device/tensor.h"
#include "core/kernels/linear/weight.h"

namespace reprise::kernels {

//   out[r] = table[ids[r]], or out[r] += table[ids[r]] with `accumulate`
//   table  [entries, cols] any dtype, or the rows of `weight` if the table is also the output head
//   ids    [rows]  in [0, entries)
//   out    [rows, cols] f32, row-major
struct EmbeddingCall {
  TensorView table;                // empty if `weight` is set
  const Weight* weight = nullptr;  // not with `accumulate`
  std::span<const int32_t> ids;
  float* out = nullptr;
  bool accumulate = false;

  void run(const Context& context) const;
};

}  // namespace reprise::kernels
