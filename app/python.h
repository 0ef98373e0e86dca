// Runs the Python scripts of plots/, which draw figures and fill the templates of pages.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/value.h"

namespace reprise::app {

// A Python that has matplotlib, as find_python() finds it.
std::optional<std::string> find_plot_python();

// Throws the error that find_plot_python() would throw for REPRISE_PYTHON. Called before a run,
// because the figures are drawn only at its end.
void check_plot_python();

// Draws the figures of results::figures_document() into the folder `out`, which is created. The
// script prints their names to standard error. Throws Error naming the package to install, the
// folder that cannot be written, or the figure that cannot be drawn; OutputError if the names
// cannot be printed.
void draw_figures(const Fields& document, const std::filesystem::path& out);

// The figures of one report of report_document() for its page: [{name, title, caption, width_px,
// and one of svg (markup whose element ids begin with the report's prefix), png (base64, if the SVG
// would be huge) and problem (a sentence)}]. Throws Error naming the package to install, or the
// figure that cannot be drawn.
[[nodiscard]] Value draw_page_figures(const Fields& report);

struct Page {
  std::string html;
  std::vector<std::string> undrawn;  // reasons why figures of reports are missing
};

// A Python that has Jinja2. `sources` ("DIR1 DIR2") is used in messages. Throws Error naming the
// package to install or the missing script.
[[nodiscard]] std::string page_python(const std::string& sources);

// Renders the page of report_document(). Each report must have "figures", as draw_page_figures()
// returns them, or "no_figures", the reason why there are none. Throws Error if the templates
// cannot be filled.
[[nodiscard]] Page render_page(const std::string& python, const Fields& document);

}  // namespace reprise::app
