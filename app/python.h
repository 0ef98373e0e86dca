// The figures are drawn by Python: finding one that has matplotlib, and running a script with it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace reprise::app {

// The first of $REPRISE_PYTHON, python3 on the PATH and /usr/bin/python3 that can import
// matplotlib.
std::optional<std::string> find_plot_python();

// Runs a program and waits for it; its exit status, 127 if it cannot be started. `is_quiet` hides
// what it prints.
int run_program(const std::vector<std::string>& command, bool is_quiet);

// Draws the figures of results::figures_document() into the folder `out`, which is made. Throws
// Error naming the package to install, the folder that cannot be written, or what cannot be drawn.
void draw_figures(const Json& document, const std::filesystem::path& out);

}  // namespace reprise::app
