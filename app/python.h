// The figures are drawn by Python: finding one that has matplotlib, and running a script with it.
#pragma once

#include <optional>
#include <string>

namespace reprise::app {

// The program that REPRISE_PYTHON names, where it is set, else the first of python3 on the PATH and
// /usr/bin/python3 that can import matplotlib; nothing where neither can. Throws Error naming the
// variable, its value and the remedy where the program that it names is no Python, or one without
// matplotlib: another would not be the one that was asked for.
std::optional<std::string> find_plot_python();

// The error of find_plot_python() about REPRISE_PYTHON, if there is one: before a run, whose
// figures are drawn at its end.
void check_plot_python();

// Draws the figures of a results folder, whose names the script prints. Throws Error naming the
// package to install, or the script that failed, and OutputError where nobody reads the names.
void draw_figures(const std::string& results_dir);

}  // namespace reprise::app
