#include "results/drawing.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/visible.h"
#include "results/metric_name.h"
#include "results/paper_numbers.h"
#include "results/placeholders.h"
#include "results/record.h"
#include "results/run_validity.h"

namespace reprise::results {
namespace {

// True if the figure shows something of the record.
bool is_drawn(const Json& record, const Json& plot) {
  if (plot["family"] != "stack")
    return !shown_metric(record["metrics"], plot["y"].get<std::string>()).is_null();
  for (const Json& part : plot["stack"])
    if (record["metrics"].contains(part.get_ref<const std::string&>())) return true;
  return false;
}

std::vector<const Json*> drawn_records(const std::vector<Json>& records, const Json& plot) {
  std::vector<const Json*> drawn;
  for (const Json& record : records)
    if (is_drawn(record, plot)) drawn.push_back(&record);
  return drawn;
}

// Throws Error unless each point that the figure draws has a word or a number for each of its axes.
void require_places(const std::vector<const Json*>& drawn, const Json& plot,
                    const std::vector<std::string>& axes, const std::string& source) {
  for (const char* use : {"x", "panels", "rows", "series"}) {
    const std::string axis = plot[use];
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) continue;
    for (const Json* record : drawn) {
      const Json& requested = (*record)["settings"]["requested"];
      const Json found = requested.value(axis, Json());
      const Json first = (*drawn.front())["settings"]["requested"].value(axis, Json());
      if ((found.is_number() || found.is_string()) && found.is_string() == first.is_string())
        continue;
      raise(
          "{}: the record of point {} has {} for \"settings.requested.{}\", where the figure {} "
          "needs a {}. Delete that record, or measure anew with --fresh.",
          source, (*record)["point"].get<std::string>(), shown(found), axis,
          plot["name"].get<std::string>(), first.is_string() ? "word" : "number");
    }
  }
}

std::vector<std::string> axes_of(const Json& run) {
  std::vector<std::string> axes;
  for (const auto& [axis, values] : run["settings"]["axes"].items()) axes.push_back(axis);
  return axes;
}

// Fills a text of the manifest with the settings of these records.
std::string filled_from(const std::vector<const Json*>& records, const Json& text,
                        const std::string& where, const ResultsFolder& folder) {
  return fill_placeholders(
      text.get<std::string>(), folder.source + ": " + where, placeholder_names(axes_of(folder.run)),
      [&](const std::string& name) { return values_text(values_in(records, name)); });
}

}  // namespace

Json filled_caption(const ResultsFolder& folder) {
  std::vector<const Json*> records;
  for (const Json& record : folder.records) records.push_back(&record);
  Json caption = folder.run["caption"];
  for (const char* key : {"title", "note"})
    caption[key] = filled_from(records, caption[key], fmt::format("the {}", key), folder);
  return caption;
}

Json figures_document(const ResultsFolder& folder) {
  Json run = folder.run;
  const std::vector<std::string> axes = axes_of(run);
  for (Json& plot : run["plots"]) {
    const std::vector<const Json*> drawn = drawn_records(folder.records, plot);
    require_places(drawn, plot, axes, folder.source);
    plot["title"] = filled_from(drawn, plot["title"],
                                "the title of figure " + plot["name"].get<std::string>(), folder);
    plot["note"] = filled_from(drawn, run["caption"]["note"], "the note", folder);
  }
  std::vector<Json> records = folder.records;
  for (Json& record : records) {
    record.erase("samples");
    if (const RunValidity validity = run_validity(record); !validity.is_valid)
      record["invalid"] = validity.reason;
  }
  size_t missing = 0;
  for (const MissingPoints& place : missing_points(folder)) missing += place.methods.size();
  return {{"source", visible(folder.source, /*kept=*/"")},  // a path may hold any bytes
          {"papers", paper_points(paper_numbers_of(run), records)},
          {"run", std::move(run)},
          {"records", std::move(records)},
          {"skipped", folder.skipped.size()},
          {"missing", missing}};
}

}  // namespace reprise::results
