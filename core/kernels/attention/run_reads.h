// Reading a run of cached tokens, as planners weigh it: once for several sequences or by each
// alone.
#pragma once

#include <cstdint>

namespace reprise::kernels {

// What one layer's attention does with the run: `items` work items of `rows` query rows each read
// all of its tokens.
struct RunReads {
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  int64_t tokens = 0;
  int64_t items = 1;
  int64_t rows = 1;
  bool leaves_partials = false;  // results that are merged with those of other runs
  bool is_merged = false;        // the step merges partial results anyway
};

}  // namespace reprise::kernels
