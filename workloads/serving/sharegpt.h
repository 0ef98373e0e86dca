// ShareGPT's conversations, sampled as RelayAttention's authors do.
//
// `file` is a .json file of ShareGPT_V3's form, [{"id", "conversations": [{"from", "value"}, ...]},
// ...]: the first text is the prompt, and the second gives the output's length. Or it is a .csv
// file of prompt and response lengths, for which prompts are made up.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// Drops the conversations that the authors drop: those with fewer than two texts, with fewer than 4
// tokens in the prompt or the output, with more than 1024 tokens in the prompt (opening tokens
// included), or with more than 2048 in both together. A made-up declared prefix of `shared_tokens`
// additional tokens replaces the opening tokens.
SourceInfo sharegpt_info();
std::unique_ptr<Entries> make_sharegpt(const SourceOptions& options);

}  // namespace reprise::workloads::serving
