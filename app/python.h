// The figures are drawn by Python: finding one that has matplotlib, and running a script with it.
#pragma once

#include <cstdint>
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

// A figure as part of a page: an SVG element, a PNG where that would be huge, or a sentence that
// says why there is none. The others are empty then.
struct PageFigure {
  std::string name, title, caption;
  std::string svg;  // markup, whose element ids begin with the document's prefix
  std::string png_base64;
  std::string problem;
  int64_t width_px = 0;  // as large as it was drawn
};

// The figures of results::figures_document() for a page. The document may have a "prefix" that its
// element ids begin with, as a page needs that holds several documents. Throws Error naming the
// package to install, or what cannot be drawn.
[[nodiscard]] std::vector<PageFigure> draw_page_figures(const Json& document);

}  // namespace reprise::app
