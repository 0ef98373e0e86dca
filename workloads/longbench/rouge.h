// ROUGE-L as the Python package `rouge` 1.0.1 computes it; LongBench and the Prompt Cache paper
// report it.
//   - Both texts are cut into sentences at every '.', and sentences into words at spaces. A
//     sentence of spaces alone has the one word "".
//   - Each sentence of the answer is compared with each of the prediction. The words of all longest
//     common subsequences form one set, so a word counts once however often it occurs.
//   - p = |set| / |distinct words of the prediction|, r = |set| / |distinct words of the answer|,
//     f = 2 p r / (p + r + 1e-8).
#pragma once

#include <cstdint>
#include <string_view>

namespace reprise::workloads::longbench {

struct RougeOptions {
  // The package walks back through a longest common subsequence by recursion; this is the limit on
  // the nested calls. Python refuses more than 1,000 nested calls, and LongBench then scores 0. In
  // LongBench's eval.py 991 of these calls are left for the walk. 0: no limit.
  int64_t most_calls = 991;
};

// Returns f, from 0 to 1. Returns 0 if a text has no sentence, or if two sentences need more than
// `most_calls` calls. Throws Error for two sentences whose word counts multiply to more than 2^28,
// which memory would not hold.
double rouge_l(std::string_view prediction, std::string_view answer,
               const RougeOptions& options = {});

}  // namespace reprise::workloads::longbench
