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

// One cell of the matrix of methods and the places where they run.
struct MethodCell {
  std::string method;   // one of the registry
  std::string place;    // a kind that takes methods of the registry, or a command
  std::string refusal;  // why the method does not run there; "" if it does
};
// All cells, method by method. A kind's refusal is the end of the error that an experiment file
// with the method gets, a command's that of --method.
[[nodiscard]] std::vector<MethodCell> method_matrix();

// {method: [color, marker]} of all methods that have a look of their own: those of the registry and
// the kinds' own. For figures.
[[nodiscard]] Json method_looks();

// A kind that measures on this machine. `name` is one of known_kinds() (CHECK).
std::unique_ptr<Kind> make_kind(const std::string& name, const Context& context);

}  // namespace reprise::experiments
