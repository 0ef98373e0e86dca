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

// All names that an experiment file may use: names of kinds, of registered methods and of
// registered workloads.
Vocabulary known_vocabulary();

// One cell of the matrix of methods and the places where they run.
struct MethodCell {
  std::string method;   // name of a registered method
  std::string place;    // name of a kind that takes registered methods, or of a command
  std::string refusal;  // reason why the method does not run there; "" if it does
};
// Returns the cells of all methods, method by method. If an experiment file or --method names a
// method that does not run there, the error gives the `refusal` of that kind's or command's cell.
[[nodiscard]] std::vector<MethodCell> method_matrix();

// For figures: {name: [color, marker]} of all methods, and all series of kinds, that define a look.
[[nodiscard]] Fields method_looks();

// A kind that measures on this machine. `name` is one of known_kinds() (CHECK).
std::unique_ptr<Kind> make_kind(const std::string& name, const Context& context);

}  // namespace reprise::experiments
