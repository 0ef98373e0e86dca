// The figures are drawn by Python: finding one that has matplotlib, and running a script with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace reprise::app {

// The first of $REPRISE_PYTHON, python3 on the PATH and /usr/bin/python3 that can import
// matplotlib.
std::optional<std::string> find_plot_python();

// Runs a program and waits for it; its exit status, 127 if it cannot be started. `is_quiet` hides
// what it prints.
int run_program(const std::vector<std::string>& command, bool is_quiet);

// Draws the figures of a results folder. Throws Error naming the package to install, or the script
// that failed.
void draw_figures(const std::string& results_dir);

}  // namespace reprise::app
