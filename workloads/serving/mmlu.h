// Questions behind worked examples: MMLU with few-shot prompts.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// `file` is a folder of SUBJECT_test.csv files (see workloads/questions/mmlu.h) or one of them. A
// subject's preamble and examples are a declared prefix, a question the rest of the prompt; the
// tokens are those of the whole text. The prefix ends where a token reaches into the question.
// To generate are 32 tokens [RelayAttention §4.1, table 1], or output_tokens.
SourceInfo mmlu_info();
std::unique_ptr<Entries> make_mmlu(const SourceOptions& options);

}  // namespace reprise::workloads::serving
