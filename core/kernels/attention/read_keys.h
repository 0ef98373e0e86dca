// Reads a step's keys and values without computing, to measure how fast memory delivers them.
#pragma once

#include <cstdint>

#include "core/kernels/attention/attention.h"

namespace reprise::kernels {

struct ReadKeys {
  int64_t bytes = 0;      // of keys and values
  uint32_t checksum = 0;  // sum of all words read, so that the compiler omits no read
};

// True if attention() reads rows of keys and values in place with few lanes. Otherwise it widens
// them to f32 first, for one unit (KV head) at a time. For bf16 and f32.
[[nodiscard]] bool reads_in_place(DType kv_dtype, int head_dim, Isa isa);

// Reads one layer's keys and values of every item, with the tasks of attention() and in its order:
// tile by tile, in a tile several heads at a time, first the keys block by block and then the
// values. The same threads read the same bytes of the same pages as in attention(), so the time of
// read_keys() is a lower bound for attention whose limit is memory. Masked keys are read too. If
// several tasks of an item, or several units, need the same keys, only the first of them reads
// these keys. There is no software prefetch.
ReadKeys read_keys(const AttentionStep& step, int64_t layer, const Context& context);

}  // namespace reprise::kernels
