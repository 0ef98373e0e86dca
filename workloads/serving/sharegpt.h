// ShareGPT's conversations as RelayAttention's authors sample them.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// A .json file of ShareGPT_V3's form, [{"id", "conversations": [{"from", "value"}, ...]}, ...]: the
// first text is the prompt, the second one's length that of the output. Or a .csv file of the
// lengths alone, prompt and response, for which prompts are made up.
// Dropped, as there: fewer than two texts, fewer than 4 tokens of either, a prompt above 1024, both
// together above 2048; what the tokenizer puts before a text counts. `shared_tokens` more of a
// made-up declared prefix stand before each prompt, which then begins without that.
SourceInfo sharegpt_info();
std::unique_ptr<Entries> make_sharegpt(const SourceOptions& options);

}  // namespace reprise::workloads::serving
