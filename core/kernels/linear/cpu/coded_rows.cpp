#include "core/kernels/linear/cpu/coded_rows.h"

#include <algorithm>
#include <cstring>

namespace reprise::kernels::cpu {
namespace {

// Returns the number of rows of each task. Tasks have nearly equal numbers of rows. Up to 8 rows
// are multiplied with codes as they are read, in tasks of at most 4 rows. Two tasks of 4 rows take
// as long as a single task of 8 rows with weights staged in L1, and two tasks of fewer rows take
// less time (one core of an AMD EPYC).
int64_t rows_of_task(int64_t m, bool takes_many) {
  const int64_t most = takes_many ? kMostCodedRows : LinearCall::kStreamedRows;
  return equal_parts(m, most);
}

// Returns the sum of `count` values, a multiple of 16. Adds in 16 lanes, which compilers vectorize.
template <typename T>
float sum_of(const T* values, int64_t count) {
  constexpr int64_t kLanes = 16;
  float lanes[kLanes] = {};
  for (int64_t i = 0; i < count; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] += static_cast<float>(values[i + lane]);
  float sum = 0.0f;
  for (const float lane : lanes) sum += lane;
  return sum;
}

// Computes sums [m][groups]: for each row of x, the sum of each group of inputs.
template <typename T>
void add_up(const T* x, int64_t m, const CodedShape& shape, std::vector<float>& sums) {
  sums.clear();
  for (int64_t row = 0; row < m; ++row)
    for (int64_t first = 0; first < shape.inputs; first += shape.group_inputs)
      sums.push_back(sum_of(x + row * shape.inputs + first,
                            std::min(shape.group_inputs, shape.inputs - first)));
}

}  // namespace

CodedRows::CodedRows(const LinearCall& call, const CodedShape& shape, LinearWorkspace& workspace,
                     const Context& context)
    : call_(call),
      workspace_(workspace),
      inputs_(shape.inputs),
      isa_(context.isa),
      fetch_(context.weights_codes),
      has_bf16_dot_(takes_many_coded_rows(shape.type.input, context)),
      is_staged_(context.is_batch_invariant),
      rows_(rows_of_task(call.m, has_bf16_dot_ && (is_staged_ || call.m > LinearCall::kCodedRows))),
      dtype_(has_bf16_dot_ ? DType::kBF16 : DType::kF32),
      input_(input_rows(
          call,
          {.cols = shape.cols, .inputs = shape.inputs, .from = shape.type.input, .to = dtype_},
          workspace, context)) {
  if (shape.type.format != WeightFormat::kInt4) return;
  groups_ = (shape.inputs + shape.group_inputs - 1) / shape.group_inputs;
  visit_dtype(dtype_, [&](auto zero) {
    add_up(reinterpret_cast<const decltype(zero)*>(input_), call.m, shape, workspace.input_sums);
  });
}

void CodedRows::run(int64_t index, const Outputs& outputs, const QuantizedPanel& panel) const {
  // first wanted output of this panel
  const int64_t begin = std::max(outputs.first, index * kPanelOutputs);
  const int64_t stride = outputs.end - outputs.first;
  for (int64_t row = 0; row < call_.m; row += rows_) {
    const QuantizedTask task{
        .panel = panel,
        .linear = {.x = input_ + static_cast<size_t>(row * inputs_) * size_of(dtype_),
                   .rows = static_cast<int>(std::min<int64_t>(rows_, call_.m - row)),
                   .bias = call_.bias != nullptr ? call_.bias + (begin - outputs.first) : nullptr,
                   .skipped = static_cast<int>(begin - index * kPanelOutputs),
                   .outputs =
                       static_cast<int>(std::min((index + 1) * kPanelOutputs, outputs.end) - begin),
                   .out = static_cast<char*>(call_.out) +
                          static_cast<size_t>(row * stride + begin - outputs.first) *
                              size_of(call_.out_dtype),
                   .out_dtype = call_.out_dtype,
                   .out_stride = stride,
                   .accumulate = call_.accumulate,
                   .fetch = fetch_},
        .x_sums = groups_ > 0 ? workspace_.input_sums.data() + row * groups_ : nullptr,
        .is_staged = is_staged_};
    if (has_bf16_dot_) {
      quantized_panel_avx512_bf16(task);
    } else {
      quantized_panel_f32(task, isa_);
    }
  }
}

}  // namespace reprise::kernels::cpu
