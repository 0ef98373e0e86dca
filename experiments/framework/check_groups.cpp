#include "experiments/framework/check_groups.h"

#include <map>

#include "core/base/problems.h"

namespace reprise::experiments {

void check_groups(const std::vector<Group>& groups, Kind& kind) {
  std::vector<std::string> problems;                          // in the order of discovery
  std::map<std::string, std::vector<const Group*>> troubled;  // groups by problem
  for (const Group& group : groups) {
    Problems of_group;
    of_group.collect([&] { kind.check(group); });
    for (const std::string& problem : of_group.list()) {
      std::vector<const Group*>& with_it = troubled[problem];
      if (with_it.empty()) problems.push_back(problem);
      with_it.push_back(&group);
    }
  }
  Problems all;
  for (const std::string& problem : problems) {
    const std::vector<const Group*>& with_it = troubled[problem];
    const std::string others =
        with_it.size() == 1 ? "" : fmt::format(" (and {} more like it)", with_it.size() - 1);
    all.add(fmt::format("{}{}: {}", with_it.front()->label, others, problem));
  }
  all.raise_if_any();
}

}  // namespace reprise::experiments
