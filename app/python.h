// Runs the Python scripts of plots/, which draw figures and fill the templates of pages.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/value.h"

namespace reprise::app {

// Returns the Python with matplotlib that find_python() finds, if any.
std::optional<std::string> find_plot_python();

// Throws Error if REPRISE_PYTHON is set to a Python that find_plot_python() refuses. Called before
// a run, because figures are drawn only at its end.
void check_plot_python();

// Draws the figures of results::figures_document() into the folder `out`, which is created. The
// script prints their names to standard error. Throws Error naming the package to install or the
// folder that cannot be written, and if a figure cannot be drawn, for which the script prints the
// reason. Throws OutputError if the names cannot be printed.
void draw_figures(const Fields& document, const std::filesystem::path& out);

// Draws the figures of `report`, one report of report_document(), for its page. Returns [{name,
// title, caption, width_px, and one of svg, png and problem}]. svg is markup whose element ids
// begin with the report's prefix. png is base64 and replaces an SVG that would be huge. problem is
// a sentence. Throws Error naming the package to install, or the figure that cannot be drawn.
[[nodiscard]] Value draw_page_figures(const Fields& report);

struct Page {
  std::string html;
  std::vector<std::string> undrawn;  // reasons why figures of reports are missing
};

// Returns a Python that has Jinja2. Throws Error naming the package to install or the missing
// script. `sources` ("DIR1 DIR2"), the arguments of `reprise report`, are repeated in the message.
[[nodiscard]] std::string page_python(const std::string& sources);

// Renders the page of report_document(). Each report must have "figures", as draw_page_figures()
// returns them, or "no_figures", the reason why there are none. Throws Error if the templates
// cannot be filled.
[[nodiscard]] Page render_page(const std::string& python, const Fields& document);

}  // namespace reprise::app
