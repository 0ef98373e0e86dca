// MMLU questions with few-shot prompts.
#pragma once

#include <cstdint>
#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// Tokens to generate for each question [RelayAttention §4.1, table 1].
inline constexpr int64_t kMmluOutputTokens = 32;

// `file` is one file of a subject or a folder of them (workloads/questions/mmlu_files.h). Each
// prompt is tokenized as a whole. A subject's declared prefix is the run of leading tokens of
// preamble and examples that all prompts of the subject share. Generates kMmluOutputTokens, or
// output_tokens if given. An answer is right if its first capital letter is the letter of the right
// choice.
SourceInfo mmlu_info();
std::unique_ptr<Entries> make_mmlu(const SourceOptions& options);

}  // namespace reprise::workloads::serving
