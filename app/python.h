// The scripts of plots/, which draw figures and fill the templates of pages, and the Python that
// runs them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

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

// The figures of one of report_document()'s reports for its page: [{name, title, caption, width_px,
// and svg (markup whose element ids begin with the report's prefix), png (in base64, where the SVG
// would be huge) or problem (a sentence)}]. Throws Error naming the package to install, or what
// cannot be drawn.
[[nodiscard]] Json draw_page_figures(const Json& report);

struct Page {
  std::string html;
  std::vector<std::string> undrawn;  // reasons why the figures of a report are missing
};

// The Python that has Jinja2, for the page of `sources` ("DIR1 DIR2"). Throws Error naming the
// package to install, or the script that is not there.
[[nodiscard]] std::string page_python(const std::string& sources);

// The page of report_document(), whose reports have "figures" as draw_page_figures() gives them, or
// "no_figures": why they could not be drawn. Throws Error where the templates cannot be filled.
[[nodiscard]] Page render_page(const std::string& python, const Json& document);

}  // namespace reprise::app
