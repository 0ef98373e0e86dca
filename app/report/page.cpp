#include "app/report/page.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "app/record_columns.h"
#include "app/report/change_section.h"
#include "app/report/data_table.h"
#include "app/report/html.h"
#include "app/report/metrics_table.h"
#include "app/report/provenance_section.h"
#include "app/report/validity_section.h"
#include "core/base/error.h"
#include "results/metric_name.h"
#include "results/provenance.h"

namespace reprise::app {
namespace {

std::string title_of(const Reported& report) {
  const std::string title = report.caption["title"];
  return title.empty() ? report.name() : title;
}

std::string page_title(const std::vector<Reported>& reports) {
  if (reports.size() == 1) return title_of(reports.front());
  return fmt::format("{} folders of results", reports.size());
}

// "After ChunkAttention, Table 3."
std::string origin_text(const Reported& report) {
  const std::string paper = report.caption["paper"], figure = report.caption["figure"];
  if (paper.empty() && figure.empty()) return "";
  return "After " + paper + (paper.empty() || figure.empty() ? "" : ", ") + figure + ".";
}

void write_head(Html& html, const std::string& title) {
  const std::string policy = fmt::format(
      "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src '{}'; "
      "base-uri 'none'; form-action 'none'",
      kPageScriptHash);
  html.open("head").empty("meta", {{"charset", "utf-8"}});
  html.empty("meta", {{"http-equiv", "Content-Security-Policy"}, {"content", policy}});
  html.empty("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  html.empty("meta", {{"name", "color-scheme"}, {"content", "light dark"}});
  html.empty("link", {{"rel", "icon"}, {"href", "data:,"}});  // or a server would be asked for one
  html.element("title", title);
  html.open("style").trusted(kPageStyle).close().close();
}

void write_figure(Html& html, const PageFigure& figure) {
  constexpr int64_t kWidest = 760;  // that stands beside another
  html.open("figure", {{"class", figure.width_px > kWidest ? "wide" : "narrow"}});
  html.element("h4", figure.title);
  if (!figure.problem.empty()) html.element("p", figure.problem, {{"class", "note"}});
  if (!figure.svg.empty()) html.open("div", {{"class", "plot"}}).trusted(figure.svg).close();
  if (!figure.png_base64.empty())
    html.open("div", {{"class", "plot paper"}})
        .empty("img",
               {{"alt", figure.title}, {"src", "data:image/png;base64," + figure.png_base64}})
        .close();
  if (!figure.caption.empty()) html.element("figcaption", figure.caption);
  html.close();
}

// A note writes names `as this`.
void write_note(Html& html, const std::string& note) {
  html.open("p");
  size_t begin = 0;
  for (bool is_name = false; begin <= note.size(); is_name = !is_name) {
    size_t end = note.find('`', begin);
    const bool is_last = end == std::string::npos;
    if (is_last) end = note.size();
    const std::string part = note.substr(begin, end - begin);
    if (is_name && !is_last)
      html.element("code", part);
    else
      html.text(is_name ? "`" + part : part);
    begin = end + 1;
  }
  html.close();
}

void write_figures(Html& html, const Reported& report) {
  if (report.figures.empty() && report.no_figures.empty()) return;
  html.element("h3", "Figures");
  if (!report.no_figures.empty())
    html.element("p", "They are not drawn: " + report.no_figures, {{"class", "note"}});
  html.open("div", {{"class", "figures"}});
  for (const PageFigure& figure : report.figures) write_figure(html, figure);
  html.close();
}

// Of the metrics that the records have, what this program knows of them.
void write_meanings(Html& html, const Reported& report) {
  std::vector<std::pair<std::string, std::string>> meanings;
  for (const std::string& name : all_metrics(report.folder)) {
    if (results::split_metric_name(name).names_percentile) continue;
    if (const auto found = report.help.find(name); found != report.help.end())
      meanings.emplace_back(heading_of(report.folder.records, name), found->second);
  }
  if (meanings.empty()) return;
  html.open("details").element("summary", "What the metrics mean");
  write_facts(html, meanings);
  html.close();
}

void write_answers(Html& html, const Reported& report) {
  const DataTable answers = answers_table(report);
  if (answers.rows.empty()) return;
  html.open("details").element("summary", "Answers: what came out beside the metrics");
  write_table(html, answers, remedy_of(report.folder));
  html.close();
}

// `is_alone`: its title is the page's.
void write_report(Html& html, const Reported& report, bool is_alone) {
  html.open("section", {{"id", report.id}});
  if (!is_alone) html.element("h2", title_of(report));
  write_badges(html, report);
  html.open("p").text(origin_text(report)).text(" Results: ");
  html.element("code", report.folder.source).close();
  if (const std::string note = report.caption["note"]; !note.empty()) write_note(html, note);
  write_figures(html, report);
  html.element("h3", "Numbers");
  write_table(html, metrics_table(report), remedy_of(report.folder));
  html.element(
      "p",
      "Medians; smaller: the quartiles, or how sure one is of a percentile. A star: noisy, "
      "or disturbed by other programs. A heading sorts.",
      {{"class", "note"}});
  write_meanings(html, report);
  write_validity(html, report);
  write_answers(html, report);
  write_provenance(html, report);
  html.close();
}

// The first folder before number `i` that has its experiment, or `i` where there is none.
size_t earlier_of(const std::vector<Reported>& reports, size_t i) {
  for (size_t earlier = 0; earlier < i; ++earlier)
    if (reports[earlier].name() == reports[i].name() &&
        reports[earlier].kind() == reports[i].kind())
      return earlier;
  return i;
}

void write_contents(Html& html, const std::vector<Reported>& reports) {
  html.open("nav").open("ul");
  for (size_t i = 0; i < reports.size(); ++i)
    if (const size_t earlier = earlier_of(reports, i); earlier != i)
      html.open("li")
          .element("a", "What changed: " + reports[i].name(),
                   {{"href", fmt::format("#{}-{}", reports[earlier].id, reports[i].id)}})
          .text(" ")
          .element("code", reports[earlier].folder.source)
          .text(" to ")
          .element("code", reports[i].folder.source)
          .close();
  for (const Reported& report : reports)
    html.open("li")
        .element("a", title_of(report), {{"href", "#" + report.id}})
        .text(" ")
        .element("code", report.folder.source)
        .close();
  html.close().close();
}

// Of the program that wrote the page, which need not be the one that measured.
void write_version(Html& html) {
  std::istringstream lines("written by " + results::version_text());
  for (std::string line; std::getline(lines, line);) html.element("p", line);
}

}  // namespace

std::string report_page(const std::vector<Reported>& reports,
                        const checks::ChangeOptions& options) {
  REPRISE_CHECK(!reports.empty());
  Html html;
  html.trusted("<!DOCTYPE html>\n").open("html", {{"lang", "en"}});
  write_head(html, page_title(reports));
  html.open("body").open("header").element("h1", page_title(reports)).close().open("main");
  if (reports.size() > 1) write_contents(html, reports);
  for (size_t i = 0; i < reports.size(); ++i)
    if (const size_t earlier = earlier_of(reports, i); earlier != i)
      write_changes(html, reports[earlier], reports[i], options);
  for (const Reported& report : reports) write_report(html, report, reports.size() == 1);
  html.close().open("footer");
  write_version(html);
  html.close();
  html.open("script").trusted(kPageScript).close().close().close().trusted("\n");
  return html.finished();
}

}  // namespace reprise::app
