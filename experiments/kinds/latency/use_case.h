// The inputs of kind "pml": a schema and a prompt that is derived from it, as a model's tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/framework/shared_info.h"
#include "experiments/kinds/latency/pml_files.h"

namespace reprise::experiments {

inline constexpr std::string_view kSchemaEnding = ".schema.xml";  // of a schema file's name

// The kind's two workloads. "use_cases": the axis use_case names a schema and a prompt. Both ship
// with the program, but the schemas of "game" and "education" must be fetched. If the workload's
// file is a folder, the schema is read from it, and so is the prompt if the folder has it.
// "pml": the file is NAME.schema.xml, and NAME.prompt.xml in the same folder is the prompt.
[[nodiscard]] std::vector<workloads::WorkloadInfo> use_case_workloads();

// The axes of kind "pml".
struct PmlAxes : StepAxes {
  std::string use_case = "of_file";  // "of_file": the workload's file is the schema
  int64_t new_tokens = 32;
  std::string tokenizer = "own";
  std::string reading = "strict";

  void visit(AxisVisitor& visitor);
};

// Returns the name NAME.prompt.xml for a schema's file NAME.schema.xml, and "" for other names.
[[nodiscard]] std::string prompt_beside(const std::string& schema);

// The files of the group's schema and prompt, and the settings of their layout. Throws Error if
// the workload and the axis use_case contradict each other, or if a file is missing.
[[nodiscard]] PmlFiles use_case_files(const Group& group);

// Returns the group's schema and prompt as tokens of the tokenizer that the axis `tokenizer` names,
// by default the model's own, read by the rules that `is_as_coded` chooses (pml::Rules). Throws
// Error as compile_pml() and use_case_files(), if there is no tokenizer, and if it makes tokens
// beyond the model's vocabulary.
[[nodiscard]] CompiledPml load_use_case(const Group& group, bool is_as_coded = false);

}  // namespace reprise::experiments
