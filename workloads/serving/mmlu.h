// MMLU questions with few-shot prompts.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// `file` is one file of a subject or a folder of them (workloads/questions/mmlu_files.h). A
// subject's preamble and examples are a declared prefix, which ends where a token reaches into the
// question. Tokens are those of the whole text. Generates 32 tokens [RelayAttention §4.1, table 1]
// or output_tokens. An answer is right if its first capital letter is.
SourceInfo mmlu_info();
std::unique_ptr<Entries> make_mmlu(const SourceOptions& options);

}  // namespace reprise::workloads::serving
