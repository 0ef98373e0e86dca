// What the commands that measure an experiment have in common: their options, and the way from a
// plan to its table and figures.
#pragma once

#include <string>
#include <vector>

#include "app/record_table.h"
#include "core/base/json.h"
#include "experiments/framework/experiment_file.h"
#include "experiments/framework/kind.h"
#include "experiments/framework/runner.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace reprise::app {

struct ExperimentOptions {
  std::string file;
  std::string scale = "desk";
  std::vector<std::string> overrides;
  std::string out;  // "": the command's default
  bool fresh = false, mix = false, no_plot = false;
  TableOptions table;
};

// Adds the file, --scale, --set, --out, --fresh, --mix, --no-plot, --format and --metrics, read
// into `options`, which must outlive the command line. `default_out` is for the help.
void add_experiment_options(CLI::App& command, const char* default_out, ExperimentOptions& options);

// The file, with the vocabulary of this program. Throws Error where it cannot be read.
[[nodiscard]] experiments::Experiment load_chosen_experiment(const ExperimentOptions& options);

// The manifest that the folder will have. Throws Error for what no table could print and no figure
// could be called, and for a REPRISE_PYTHON that cannot draw where figures are to be drawn:
// before anything is measured.
[[nodiscard]] Json checked_plan(const experiments::Experiment& experiment,
                                const experiments::RunOptions& options,
                                const std::vector<experiments::Group>& groups,
                                const ExperimentOptions& chosen);

// Measures what the folder lacks, and prints the table and draws the figures of what it has then.
// Throws ExitStatus where it was interrupted, where points do not fit into memory, and where the
// figures could not be drawn.
void measure_and_show(const experiments::Experiment& experiment,
                      const experiments::RunOptions& options, experiments::Kind& kind,
                      const Json& manifest, const ExperimentOptions& chosen);

}  // namespace reprise::app
