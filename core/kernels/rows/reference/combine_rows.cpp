#include "core/kernels/rows/reference/combine_rows.h"

namespace reprise::kernels::reference {

std::vector<double> combine_rows(const CombineRowsCall& call) {
  std::vector<double> out(call.out, call.out + call.rows * call.cols);
  for (int64_t row = 0; row < call.rows; ++row)
    for (int64_t s = 0; s < call.per_row; ++s) {
      const auto at = static_cast<size_t>(row * call.per_row + s);
      for (int64_t c = 0; c < call.cols; ++c)
        out[static_cast<size_t>(row * call.cols + c)] +=
            static_cast<double>(call.weights[at]) *
            static_cast<double>(call.in[call.places[at] * call.cols + c]);
    }
  return out;
}

}  // namespace reprise::kernels::reference
