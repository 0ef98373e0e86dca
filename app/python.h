// The figures are drawn by Python: finding one that has matplotlib, and running a script with it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/json.h"

namespace reprise::app {

// As find_python(), with matplotlib.
std::optional<std::string> find_plot_python();

// The error of find_plot_python() about REPRISE_PYTHON, if there is one: before a run, whose
// figures are drawn at its end.
void check_plot_python();

// Draws the figures of results::figures_document() into the folder `out`, which is made; the script
// prints their names to standard error. Throws Error naming the package to install, the folder that
// cannot be written, or what cannot be drawn, and OutputError where nobody reads the names.
void draw_figures(const Json& document, const std::filesystem::path& out);

}  // namespace reprise::app
