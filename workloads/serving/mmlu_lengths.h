// MMLU's prompts as RelayAttention's authors counted them, with made-up tokens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace reprise::workloads::serving {

// Token counts by Llama-2's tokenizer. Each includes a begin token.
struct SubjectLengths {
  std::string name;
  int64_t prefix_tokens = 0;             // tokens of five worked examples
  std::vector<int64_t> question_tokens;  // tokens of each test question, in the file's order
};

// Reads the two lists of rayleizhu/vllm-ra, stat/dataset. `place` is the lists' folder or one of
// the two lists. The lists name no subjects; they are in the order of questions::mmlu_subjects().
// Throws Error if a list is missing, is no list of token counts, or has another length than this
// order requires.
std::vector<SubjectLengths> read_mmlu_lengths(const std::filesystem::path& place);

}  // namespace reprise::workloads::serving
