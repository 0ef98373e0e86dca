#include "workloads/registry.h"

#include "core/base/error.h"
#include "workloads/random_tokens.h"
#include "workloads/text_prompts.h"

namespace reprise::workloads {

std::vector<WorkloadInfo> known_workloads() { return {RandomTokens::info(), TextPrompts::info()}; }

std::unique_ptr<Workload> make_workload(const std::string& name, const WorkloadSource& source) {
  if (name == RandomTokens::info().name) return std::make_unique<RandomTokens>(source);
  if (name == TextPrompts::info().name) return std::make_unique<TextPrompts>(source);
  std::vector<std::string> names;
  for (const WorkloadInfo& info : known_workloads()) names.push_back(info.name);
  raise("{}", unknown_name("workload", name, names));
}

}  // namespace reprise::workloads
