// What kind "pml" runs: a schema and a prompt that is derived from it, as a model's tokens.
#pragma once

#include <string>
#include <vector>

#include "experiments/framework/shared_info.h"
#include "experiments/kinds/latency/pml_files.h"

namespace reprise::experiments {

// "use_cases": those that come with the program, chosen by the axis use_case.
// "pml": NAME.schema.xml as the workload's file, with NAME.prompt.xml beside it.
[[nodiscard]] std::vector<workloads::WorkloadInfo> use_case_workloads();

// The axes of kind "pml".
struct PmlAxes : StepAxes {
  std::string use_case = "of_file";  // the workload's file says it
  int64_t new_tokens = 32;
  std::string tokenizer = "own";

  void visit(AxisVisitor& visitor);
};

// The prompt's file that belongs to a schema's, "" for a name that is no schema's.
[[nodiscard]] std::string prompt_beside(const std::string& schema);

// The files of the group's schema and prompt, and what they are laid out for. Throws Error where
// workload and axis do not fit, or a file is missing.
[[nodiscard]] PmlFiles use_case_files(const Group& group);

// The group's schema and prompt by its model's tokenizer, or by the one that its axis tokenizer
// names. Throws Error as compile_pml(), where workload and axis do not fit, a file is missing, the
// model has no tokenizer, or one that makes tokens beyond its vocabulary.
[[nodiscard]] CompiledPml load_use_case(const Group& group);

}  // namespace reprise::experiments
