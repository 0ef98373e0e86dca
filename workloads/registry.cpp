#include "workloads/registry.h"

namespace reprise::workloads {

std::vector<WorkloadInfo> known_workloads() {
  return {{"random_tokens", "uniform random token ids, any length and vocabulary", false},
          {"text_prompts", "text of a file, tokenized and cut to the wanted length", true}};
}

}  // namespace reprise::workloads
