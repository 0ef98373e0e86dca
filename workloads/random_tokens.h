// Prompts of random tokens: any length for any vocabulary, the same for every method and machine.
#pragma once

#include <cstdint>
#include <vector>

namespace reprise::workloads {

// Word `index` of the counter-based stream of (seed, item): changing one item leaves the others
// alone, and no word depends on how many were drawn before it.
[[nodiscard]] uint64_t stream_word(uint64_t seed, uint64_t item, uint64_t index);

// Token t of request r is drawn uniformly from [0, vocab) by word t of the stream (seed, r), so a
// longer prompt of the same request begins with the shorter one. vocab > 0, tokens >= 0.
[[nodiscard]] std::vector<int32_t> random_tokens(uint64_t seed, int64_t request, int64_t tokens,
                                                 int64_t vocab);

}  // namespace reprise::workloads
