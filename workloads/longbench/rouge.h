// ROUGE-L as the Python package `rouge` 1.0.1 computes it, which is what LongBench and the Prompt
// Cache paper report.
#pragma once

#include <cstdint>
#include <string_view>

namespace reprise::workloads::longbench {

struct RougeOptions {
  // The package walks back through a longest common subsequence with a Python function that calls
  // itself, and LongBench gives 0 where Python refuses to go deeper than 1,000 calls: 991 of them
  // are left for the walk when LongBench's eval.py is the program. 0: no limit.
  int64_t most_calls = 991;
};

// The F value, 0 to 1:
//   - both texts are cut into sentences at every '.'; a sentence's words stand between spaces, and
//     one of spaces alone has the one word "";
//   - each sentence of the answer is compared with each of the prediction, and the words of all
//     their longest common subsequences are put into one set, so that a word counts once, however
//     often it is repeated and wherever it stands;
//   - p = |set| / |distinct words of the prediction|, r = |set| / |distinct words of the answer|,
//     f = 2 p r / (p + r + 1e-8).
// 0 where a text has no sentence, and where two sentences need more than `most_calls`. Throws Error
// for a pair of sentences of more than 2^28 words times words, where memory would run out.
double rouge_l(std::string_view prediction, std::string_view answer,
               const RougeOptions& options = {});

}  // namespace reprise::workloads::longbench
