#include "results/drawing.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/visible.h"
#include "results/metric_name.h"
#include "results/paper_numbers.h"
#include "results/placeholders.h"
#include "results/record.h"

namespace reprise::results {
namespace {

// Whether a figure shows something of a record.
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

// Each point that a figure draws has a place in it: a word or a number for each of its axes.
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

}  // namespace

Json figures_document(const ResultsFolder& folder) {
  Json run = folder.run;
  std::vector<std::string> axes;
  for (const auto& [axis, values] : run["settings"]["axes"].items()) axes.push_back(axis);
  const std::vector<std::string> known = placeholder_names(axes);
  const auto fill = [&](const Json& text, const std::string& where,
                        const std::vector<const Json*>& records) {
    return fill_placeholders(
        text.get<std::string>(), folder.source + ": " + where, known,
        [&](const std::string& name) { return values_text(values_in(records, name)); });
  };
  for (Json& plot : run["plots"]) {
    const std::vector<const Json*> drawn = drawn_records(folder.records, plot);
    require_places(drawn, plot, axes, folder.source);
    plot["title"] =
        fill(plot["title"], "the title of figure " + plot["name"].get<std::string>(), drawn);
    plot["note"] = fill(run["caption"]["note"], "the note", drawn);
  }
  std::vector<Json> records = folder.records;
  for (Json& record : records) record.erase("samples");
  size_t missing = 0;
  for (const MissingPoints& place : missing_points(folder)) missing += place.methods.size();
  return {{"source", visible(folder.source, /*kept=*/"")},  // a path may be of any bytes
          {"papers", paper_points(paper_numbers_of(run), records)},
          {"run", std::move(run)},
          {"records", std::move(records)},
          {"skipped", folder.skipped.size()},
          {"missing", missing}};
}

}  // namespace reprise::results
