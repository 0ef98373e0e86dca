#include "workloads/registry.h"

#include "core/base/error.h"
#include "workloads/random_tokens.h"
#include "workloads/text_prompts.h"

namespace reprise::workloads {
namespace {

struct WorkloadEntry {
  WorkloadInfo (*info)();
  std::unique_ptr<Workload> (*make)(const WorkloadSource& source);
};

template <typename T>
constexpr WorkloadEntry workload() {
  return {.info = &T::info, .make = [](const WorkloadSource& source) -> std::unique_ptr<Workload> {
            return std::make_unique<T>(source);
          }};
}

// The list of all workloads.
constexpr WorkloadEntry kWorkloads[] = {
    workload<RandomTokens>(),
    workload<TextPrompts>(),
};

}  // namespace

std::vector<WorkloadInfo> known_workloads() {
  std::vector<WorkloadInfo> infos;
  for (const WorkloadEntry& entry : kWorkloads) infos.push_back(entry.info());
  return infos;
}

std::unique_ptr<Workload> make_workload(const std::string& name, const WorkloadSource& source) {
  std::vector<std::string> names;
  for (const WorkloadEntry& entry : kWorkloads) {
    names.push_back(entry.info().name);
    if (names.back() == name) return entry.make(source);
  }
  raise("{}", unknown_name("workload", name, names));
}

}  // namespace reprise::workloads
