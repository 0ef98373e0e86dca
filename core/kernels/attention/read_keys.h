// Reads a step's keys and values without computing, to measure what memory allows its attention.
#pragma once

#include <cstdint>

#include "core/kernels/attention/attention.h"

namespace reprise::kernels {

struct ReadKeys {
  int64_t bytes = 0;      // of keys and values
  uint32_t checksum = 0;  // sum of their words, so that no read can be left out
};

// Reads one layer's keys and values of every item, with the tasks and in the order of attention():
// tile by tile, in a tile several heads at a time, the keys block by block and then the values. The
// same threads read the same bytes of the same pages, so its time is a lower bound for attention
// limited by memory. Masked keys are read too. If an item's rows make several tasks, the first
// reads it; if several units share a kv head, the first does. Only the hardware prefetches.
ReadKeys read_keys(const AttentionStep& step, int64_t layer, const Context& context);

}  // namespace reprise::kernels
