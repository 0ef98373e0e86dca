#include "results/drawing.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/base/visible.h"
#include "results/metric_name.h"
#include "results/placeholders.h"
#include "results/run_validity.h"

namespace reprise::results {
namespace {

// True if the record has a metric that the figure shows.
bool is_drawn(const Record& record, const Plot& plot) {
  if (plot.family != "stack") return shown_metric(record.metrics, plot.y).has_value();
  return std::any_of(plot.stack.begin(), plot.stack.end(),
                     [&](const std::string& part) { return record.metrics.contains(part); });
}

std::vector<const Record*> drawn_records(const std::vector<Record>& records, const Plot& plot) {
  std::vector<const Record*> drawn;
  for (const Record& record : records)
    if (is_drawn(record, plot)) drawn.push_back(&record);
  return drawn;
}

// Throws Error unless, for each axis of the run that the figure uses, either all drawn points have
// a text or all have a number.
void require_places(const std::vector<const Record*>& drawn, const Plot& plot,
                    const std::vector<std::string>& axes, const std::string& source) {
  for (const std::string& axis : {plot.x, plot.panels, plot.rows, plot.series}) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) continue;
    for (const Record* record : drawn) {
      const Value& found = record->requested(axis);
      const Value& first = drawn.front()->requested(axis);
      if ((found.is_number() || found.is_text()) && found.is_text() == first.is_text()) continue;
      raise(
          "{}: the record of point {} has {} for \"settings.requested.{}\", where the figure {} "
          "needs a {}. Delete that record, or measure anew with --fresh.",
          source, record->point, shown(found), axis, plot.name,
          first.is_text() ? "word" : "number");
    }
  }
}

std::vector<std::string> axes_of(const Manifest& run) {
  std::vector<std::string> axes;
  for (const auto& [axis, values] : run.settings.axes) axes.push_back(axis);
  return axes;
}

// Fills a text of the manifest with the settings of these records.
std::string filled_from(const std::vector<const Record*>& records, const std::string& text,
                        const std::string& where, const ResultsFolder& folder) {
  return fill_placeholders(
      text, folder.source + ": " + where, placeholder_names(axes_of(folder.run)),
      [&](const std::string& name) { return values_text(values_in(records, name)); });
}

// Appends a mark to the title of a run at scale smoke, whose sizes are too small for results.
std::string marked(std::string title, const Manifest& run) {
  if (run.settings.scale == "smoke" && !title.empty()) title += " (smoke scale)";
  return title;
}

// The metrics whose samples a timeline draws one by one.
std::set<std::string> metrics_over_time(const std::vector<Plot>& plots) {
  std::set<std::string> metrics;
  for (const Plot& plot : plots)
    if (plot.family == "timeline") metrics.insert(plot.y);
  return metrics;
}

// The record as figures and pages need it: without samples, except those of the metrics in `kept`,
// and with the reason why the run or its speed-up is invalid, or the reservations about a valid
// one.
Fields drawn_fields(Record record, const std::vector<Record>& records,
                    const std::set<std::string>& kept) {
  const RunValidity validity = run_validity(record);
  const std::string of_speedup = invalid_speedup_remark(record, records);
  std::erase_if(record.samples, [&](const auto& one) { return !kept.contains(one.first); });
  Fields fields = written_fields(record);
  if (kept.empty()) fields.erase("samples");
  if (!validity.is_valid) fields["invalid"] = validity.reason;
  if (!of_speedup.empty()) fields["invalid_speedup"] = of_speedup;
  if (!validity.reservations.empty()) fields["reservations"] = validity.reservations;
  return fields;
}

}  // namespace

Caption filled_caption(const ResultsFolder& folder) {
  std::vector<const Record*> records;
  for (const Record& record : folder.records) records.push_back(&record);
  Caption caption = folder.run.caption;
  caption.title = marked(filled_from(records, caption.title, "the title", folder), folder.run);
  caption.note = filled_from(records, caption.note, "the note", folder);
  return caption;
}

std::vector<PaperPoints> papers_beside(const ResultsFolder& folder) {
  return paper_points(paper_numbers_of(folder.run), folder.records);
}

Fields figures_document(const ResultsFolder& folder) {
  return figures_document(folder, papers_beside(folder));
}

Fields figures_document(const ResultsFolder& folder, const std::vector<PaperPoints>& papers) {
  Manifest run = folder.run;
  const std::vector<std::string> axes = axes_of(run);
  for (Plot& plot : run.plots) {
    const std::vector<const Record*> drawn = drawn_records(folder.records, plot);
    require_places(drawn, plot, axes, folder.source);
    plot.title = marked(filled_from(drawn, plot.title, "the title of figure " + plot.name, folder),
                        folder.run);
    plot.note = filled_from(drawn, run.caption.note, "the note", folder);
  }
  Values records;
  const std::set<std::string> kept = metrics_over_time(run.plots);
  for (const Record& record : folder.records)
    records.emplace_back(drawn_fields(record, folder.records, kept));
  size_t missing = 0;
  for (const MissingPoints& place : missing_points(folder)) missing += place.methods.size();
  return {{"source", visible(folder.source, /*kept=*/"")},  // a path may hold any bytes
          {"papers", FieldWriter::written(papers)},
          {"run", written_fields(run)},
          {"records", std::move(records)},
          {"skipped", folder.skipped.size()},
          {"missing", missing}};
}

}  // namespace reprise::results
