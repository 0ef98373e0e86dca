#include "app/report/reported.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/record_columns.h"
#include "app/report/rate_figures.h"
#include "core/base/error.h"
#include "results/drawing.h"
#include "results/paper_numbers.h"

namespace reprise::app {
namespace {

// Without a Python that draws, the page still has its numbers.
void draw(Reported& report) {
  if (report.folder.run["plots"].empty()) return;
  Json document = results::figures_document(report.folder);
  document["prefix"] = report.id + "-";
  try {
    report.figures = draw_page_figures(document);
  } catch (const Error& error) {
    report.no_figures = error.what();
  }
}

}  // namespace

std::string Reported::name() const { return folder.run["settings"]["name"]; }
std::string Reported::kind() const { return folder.run["settings"]["kind"]; }

Reported reported(results::ResultsFolder folder, int64_t number, MetricHelp help) {
  Reported report{.folder = std::move(folder),
                  .id = fmt::format("r{}", number),
                  .caption = {},
                  .papers = {},
                  .keys = {},
                  .figures = {},
                  .help = std::move(help)};
  report.caption = results::filled_caption(report.folder);
  report.papers =
      results::paper_points(results::paper_numbers_of(report.folder.run), report.folder.records);
  report.keys = key_columns(report.folder.records, report.folder.run);
  add_rate_figures(report.folder);
  draw(report);
  return report;
}

std::string point_text(const Json& record, const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) {
    const bool is_word = key == "model" || key == "dtype" || key == "weight_format" ||
                         key == "method";
    text += (text.empty() ? "" : " ") + (is_word ? "" : key + "=") + setting_text(record, key);
  }
  return text;
}

std::string remedy_of(const results::ResultsFolder& folder) {
  return fmt::format("All of them: reprise plot {} --metrics all --format csv", folder.source);
}

}  // namespace reprise::app
