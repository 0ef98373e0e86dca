// Row operations of the pointwise kernels; core/kernels/shared/pointwise.cpp runs them on several
// threads.
#pragma once

#include <cstdint>

#include "core/base/dtype.h"
#include "core/device/cpu.h"

namespace reprise::kernels {

struct NormCall;
struct ActivationCall;
struct RotaryCall;

namespace cpu {

void norm_row(const NormCall& call, int64_t row, Isa isa);
void activation_row(const ActivationCall& call, int64_t row, Isa isa);
void rotary_row(const RotaryCall& call, int64_t row, Isa isa);
void clip(float* data, int64_t count, float limit, Isa isa);
void to_bf16(const float* in, bf16* out, int64_t count, Isa isa);

}  // namespace cpu
}  // namespace reprise::kernels
