// A step's keys and values read and not computed with: what memory allows its attention.
#pragma once

#include <cstdint>

#include "core/kernels/attention/attention.h"

namespace reprise::kernels {

struct ReadKeys {
  int64_t bytes = 0;      // of keys and values
  uint32_t checksum = 0;  // their words' sum: nobody can leave a read out
};

// Reads one layer's keys and values of every item, by the tasks and in the order of attention():
// tile by tile, in a tile some heads at a time, their keys block by block and then their values.
// The same bytes in the same pages by the same threads, so its time is the least that attention
// could take where memory is the limit. Keys that a mask hides are read too; an item whose rows
// make several tasks is read by the first of them, a kv head by the first of several units. The
// hardware alone fetches ahead.
ReadKeys read_keys(const AttentionStep& step, int64_t layer, const Context& context);

}  // namespace reprise::kernels
