// A run of cached tokens that several sequences may read together or separately. Planners compare
// the costs of the two.
#pragma once

#include <cstdint>

namespace reprise::kernels {

// One layer's attention over the run: `items` work items of `rows` query rows each read all of its
// tokens.
struct RunReads {
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  int64_t tokens = 0;
  int64_t items = 1;
  int64_t rows = 1;
  bool leaves_partials = false;  // its results are merged with results of other runs
  bool is_merged = false;        // the step merges partial results in any case
};

}  // namespace reprise::kernels
