// Options and functions of the commands that measure an experiment (run, load). The functions turn
// a plan into records, a table and figures.
#pragma once

#include <string>
#include <vector>

#include "app/record_table.h"
#include "experiments/framework/experiment_file.h"
#include "experiments/framework/kind.h"
#include "experiments/framework/runner.h"
#include "experiments/framework/sweep.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace reprise::app {

struct ExperimentOptions {
  std::string file;
  std::string scale = "desk";
  std::vector<std::string> overrides;
  std::string out;    // "": the command's default
  std::string trace;  // file for Chrome's trace events; "": none
  bool fresh = false, mix = false, no_plot = false;
  TableOptions table;
};

// Adds the argument for the file, --scale, --set, --out, --fresh, --mix, --trace, --no-plot,
// --format and --metrics. They are read into `options`, which must outlive the command line. --help
// shows `default_out` as the default of --out.
void add_experiment_options(CLI::App& command, const char* default_out, ExperimentOptions& options);

// Reads the chosen experiment with this program's vocabulary. If models or data sets that its scale
// names are not on this machine, applies the scale's "stand_in" and prints a note. Throws Error if
// the file cannot be read.
[[nodiscard]] experiments::Experiment load_chosen_experiment(const ExperimentOptions& options);

// Returns the groups to measure and the manifest of their results folder. Throws Error for an
// unknown --format, for --metrics that are repeated, unknown to the kind or measured only on a
// request that the experiment lacks, and for a manifest that check_made_manifest() refuses. If
// figures are wanted, also throws Error for a REPRISE_PYTHON that cannot draw them.
[[nodiscard]] experiments::Plan checked_plan(const experiments::Experiment& experiment,
                                             const experiments::RunOptions& options,
                                             const ExperimentOptions& chosen);

struct ShownRun {
  experiments::RunOutcome outcome;
  int status = 0;  // kSkippedStatus, kNoFigureStatus, or 0 if everything is there
};

// Measures the points whose records the results folder lacks. Then prints the table and draws the
// figures of all the plan's points. Throws ExitStatus if the run is interrupted.
[[nodiscard]] ShownRun measure_and_show(const experiments::Experiment& experiment,
                                        const experiments::Plan& plan,
                                        const experiments::RunOptions& options,
                                        experiments::Kind& kind, const ExperimentOptions& chosen);

}  // namespace reprise::app
