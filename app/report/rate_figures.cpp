#include "app/report/rate_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "results/metric_name.h"

namespace reprise::app {
namespace {

using Names = std::vector<std::string>;

// The latencies that figures show, the most telling first, and what their titles call them.
constexpr std::pair<const char*, const char*> kLatencies[] = {
    {"normalised_latency_s", "Normalised latency"},
    {"ttft_ms", "Time to first token"},
    {"tpot_ms", "Time per further token"},
    {"e2e_ms", "End-to-end time"}};

// Those that the records have, in this order.
Names present(const results::ResultsFolder& folder, const Names& names) {
  Names found;
  for (const std::string& name : names)
    if (std::any_of(folder.records.begin(), folder.records.end(), [&](const Json& record) {
          return !results::shown_metric(record["metrics"], name).is_null();
        }))
      found.push_back(name);
  return found;
}

bool is_rate(const std::string& axis, const Json& units) {
  const std::string unit = units.value(axis, "");
  const bool is_per_s = unit == "1/s" || unit == "requests/s" || unit == "rps";
  return axis.ends_with("_rps") || (is_per_s && axis.find("rate") != std::string::npos);
}

// Swept, of numbers; "" where there is none.
std::string rate_axis(const Json& run) {
  for (const auto& [axis, values] : run["settings"]["axes"].items())
    if (values.size() > 1 && is_rate(axis, run["axis_units"]) &&
        std::all_of(values.begin(), values.end(), [](const Json& v) { return v.is_number(); }))
      return axis;
  return "";
}

std::string panel_axis(const Json& run, const std::string& rate) {
  constexpr size_t kMostPanels = 4;
  for (const auto& [axis, values] : run["settings"]["axes"].items())
    if (axis != rate && values.size() > 1 && values.size() <= kMostPanels) return axis;
  return "";
}

bool is_figured(const Json& plots, const std::string& x, const std::string& y) {
  return std::any_of(plots.begin(), plots.end(), [&](const Json& plot) {
    return plot["family"] == "lines" && plot["x"] == x && plot["y"] == y;
  });
}

// The name, or one beside it that no figure of the experiment has.
std::string free_name(const Json& plots, std::string name) {
  while (std::any_of(plots.begin(), plots.end(),
                     [&](const Json& plot) { return plot["name"] == name; }))
    name += "_";
  return name;
}

Json plot_of(const std::string& family, const std::string& x, const std::string& y,
             const std::string& panels) {
  return {{"family", family},      {"x", x},         {"y", y},
          {"series", "method"},    {"log_x", false}, {"log_y", true},
          {"panels", panels},      {"rows", ""},     {"reference", ""},
          {"stack", Json::array()}};
}

}  // namespace

void add_rate_figures(results::ResultsFolder& folder) {
  Json& run = folder.run;
  const std::string rate = rate_axis(run);
  if (rate.empty()) return;
  const std::string panels = panel_axis(run, rate);
  const auto add = [&](Json plot, const std::string& name, const std::string& title) {
    plot["name"] = free_name(run["plots"], "report_" + name);
    plot["title"] = title;
    run["plots"].push_back(std::move(plot));
  };
  std::string telling;  // the first latency that there is
  for (const auto& [latency, title] : kLatencies)
    for (const std::string& y : present(folder, {latency, std::string(latency) + ".p99"})) {
      if (telling.empty()) telling = latency;
      const char* what = y == latency ? "median" : "99th percentile";
      if (!is_figured(run["plots"], rate, y))
        add(plot_of("lines", rate, y, panels), y,
            fmt::format("{} against the request rate: {}", title, what));
    }
  const Names throughputs =
      present(folder, {"throughput_rps", "output_tokens_per_s", "total_tokens_per_s"});
  if (telling.empty() || throughputs.empty()) return;
  Json pareto = plot_of("pareto", rate, telling, panels);
  pareto["against"] = throughputs.front();
  add(std::move(pareto), "pareto", "Throughput against latency: the Pareto front over methods");
}

}  // namespace reprise::app
