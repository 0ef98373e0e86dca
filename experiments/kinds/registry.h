// The experiment kinds of this program.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/device/context.h"
#include "experiments/framework/experiment_file.h"
#include "experiments/framework/kind.h"

namespace reprise::experiments {

// All kinds in the order `reprise list` shows them.
const std::vector<KindInfo>& known_kinds();

// All names that an experiment file may use: the kinds, and the methods and workloads of their
// registries.
Vocabulary known_vocabulary();

// One cell of the matrix of methods and the places where they run.
struct MethodCell {
  std::string method;   // one of the registry
  std::string place;    // a kind that takes methods of the registry, or a command
  std::string refusal;  // reason why the method does not run there; "" if it does
};
// Returns the cells of all methods, method by method. The error for an experiment file that lists
// the method gives the kind's refusal as its reason; the error for --method gives the command's.
[[nodiscard]] std::vector<MethodCell> method_matrix();

// For figures: {method: [color, marker]} of all methods with their own look, including the kinds'
// own methods.
[[nodiscard]] Fields method_looks();

// A kind that measures on this machine. `name` is one of known_kinds() (CHECK).
std::unique_ptr<Kind> make_kind(const std::string& name, const Context& context);

}  // namespace reprise::experiments
