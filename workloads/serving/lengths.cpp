#include "workloads/serving/lengths.h"

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
