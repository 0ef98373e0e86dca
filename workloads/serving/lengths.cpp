// Requests with recorded lengths.
//
// Files are CSV of integers, with or without a heading: tokens of a prompt and of an output in two
// columns. Prompts are made up. A declared prefix, `shared_tokens` additional tokens, precedes each
// prompt.
#include "workloads/serving/sources.h"

#include "workloads/serving/recorded_lengths.h"

namespace reprise::workloads::serving {

SourceInfo lengths_info() {
  return {.name = "lengths",
          .summary = "lengths of a CSV file, made-up prompts",
          .file = FileUse::kNeeded,
          .fields = {"requests", "order", "shared_tokens", "prompt_column", "output_column",
                     "length_divisor", "most_prompt_tokens", "most_output_tokens", "too_long"}};
}

std::unique_ptr<Entries> make_lengths(const SourceOptions& options) {
  auto entries = std::make_unique<RecordedLengths>(options);
  for_each_length_pair(options.file,
                       {.prompt = options.prompt_column, .output = options.output_column},
                       [&](int64_t prompt, int64_t output) { entries->add(prompt, output); });
  return entries;
}

}  // namespace reprise::workloads::serving
