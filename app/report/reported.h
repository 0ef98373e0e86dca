// What a page tells of one folder of results.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/python.h"
#include "core/base/json.h"
#include "results/folder.h"

namespace reprise::app {

// What metrics are, by their names.
using MetricHelp = std::map<std::string, std::string>;

struct Reported {
  results::ResultsFolder folder;
  std::string id;                 // of its part of the page: "r1"
  Json caption;                   // as results::filled_caption() gives it
  Json papers;                    // as results::paper_points() gives them
  std::vector<std::string> keys;  // settings that tell its points apart, as key_columns()
  std::vector<PageFigure> figures;
  std::string no_figures = {};  // why there are none; "": they are drawn
  MetricHelp help;

  [[nodiscard]] std::string name() const;  // of the experiment
  [[nodiscard]] std::string kind() const;
};

// The folder as a page tells it, with the figures that a rate axis asks for (rate_figures.h), all
// drawn where there is a Python for it. `number` counts the page's folders from 1. Throws Error for
// a placeholder or a paper's name that nobody knows.
[[nodiscard]] Reported reported(results::ResultsFolder folder, int64_t number, MetricHelp help);

// "bf16 batch=8 paged": the settings of a record that tell its point apart.
[[nodiscard]] std::string point_text(const Json& record, const std::vector<std::string>& keys);

// Where all points of a folder are, for what a page leaves out.
[[nodiscard]] std::string remedy_of(const results::ResultsFolder& folder);

}  // namespace reprise::app
