// The experiment kinds of this program.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/device/context.h"
#include "experiments/framework/experiment_file.h"
#include "experiments/framework/kind.h"

namespace reprise::experiments {

// In the order `reprise list` shows them.
const std::vector<KindInfo>& known_kinds();

// Everything an experiment file may name: the kinds above, and what the registries of methods and
// workloads list.
Vocabulary known_vocabulary();

// A kind that measures on this machine. `name` is one of known_kinds() (CHECK).
std::unique_ptr<Kind> make_kind(const std::string& name, const Context& context);

}  // namespace reprise::experiments
