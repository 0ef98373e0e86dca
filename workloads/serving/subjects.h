// Two sources ask MMLU's questions: "mmlu" and "mmlu_lengths". They share the length of answers and
// the option "subjects".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// Tokens to generate for each question [RelayAttention §4.1, table 1].
inline constexpr int64_t kMmluOutputTokens = 32;

// The subjects that the options name, or all of `names` if they name none. Throws Error beginning
// with the source's name for an unknown subject and for one that is named twice.
std::vector<std::string> chosen_subjects(const char* source, const SourceOptions& options,
                                         std::span<const std::string> names);

}  // namespace reprise::workloads::serving
