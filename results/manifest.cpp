#include "results/manifest.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/base/error.h"
#include "results/paper_numbers.h"

namespace reprise::results {
namespace {

constexpr size_t kMostPlots = 100;
constexpr size_t kMostAxisValues = 1000;
constexpr double kMostCombinations = 1e6;  // of cases, models and dtypes, each of which is compared

void require_most(size_t found, size_t most, const std::string& what) {
  if (found > most)
    throw FieldFault{fmt::format("{} has {} entries, at most {} are allowed", what, found, most)};
}

// Throws FieldFault unless `known` contains `name`. `what` is the kind of thing named, e.g. "axis"
// or "plot family".
void require_one_of(const std::vector<std::string>& known, const std::string& what,
                    const std::string& name, const std::string& where) {
  if (std::find(known.begin(), known.end(), name) == known.end())
    throw FieldFault{fmt::format("{}: {}", where, unknown_name(what, name, known))};
}

void check_name(const std::string& name, const std::string& where) {
  if (name.size() > kLongestName)
    throw FieldFault{fmt::format("{} must be a text of at most {} bytes, found one of {}", where,
                                 kLongestName, name.size())};
}

// Throws FieldFault unless the axis has at least one value and each value is a number or a word.
void check_axis(const std::string& name, const Values& values) {
  const std::string where = "settings.axes." + name;
  if (values.empty() || values.size() > kMostAxisValues)
    throw FieldFault{fmt::format("{} must be a list of 1 to {} values, found {}", where,
                                 kMostAxisValues, shown(values))};
  for (const Value& value : values) {
    double number = 0;
    std::string word;
    if (value.is_text())
      FieldReader::read(value, where, word);
    else
      FieldReader::read(value, where, number);
    check_name(word, where);
  }
}

template <typename T>
std::vector<T> or_one(std::vector<T> list) {
  if (list.empty()) list.emplace_back();
  return list;
}

void check_settings(const PlannedSettings& settings) {
  require_most(settings.models.size(), kMostAxisValues, "settings.models");
  require_most(settings.dtypes.size(), kMostAxisValues, "settings.dtypes");
  require_most(settings.methods.size(), kMostAxisValues, "settings.methods");
  for (const auto& [name, values] : settings.axes) check_axis(name, values);
  const auto count = [](const auto& list) { return static_cast<double>(list.size()); };
  const auto cases = or_one(settings.cases);
  const auto models = or_one(settings.models);
  const auto dtypes = or_one(settings.dtypes);
  if (count(cases) * count(models) * count(dtypes) > kMostCombinations)
    throw FieldFault{
        fmt::format("settings has {} cases for {} models and {} dtypes, at most {:.0f} "
                    "combinations of them are allowed",
                    cases.size(), models.size(), dtypes.size(), kMostCombinations)};
  double points = 0;
  for (const Fields& one_case : cases) {
    double of_axes = 1;  // points with one model, dtype and method
    for (const auto& [name, values] : settings.axes)
      if (!one_case.contains(name)) of_axes *= count(values);
    for (const PlannedModel& model : models)
      for (const std::string& dtype : dtypes)
        if (is_case_of(one_case, model, dtype)) points += of_axes;
  }
  points *= count(or_one(settings.methods));
  if (points > static_cast<double>(kMostPlannedPoints))
    throw FieldFault{fmt::format("settings spans {:.0f} points, at most {} are allowed", points,
                                 kMostPlannedPoints)};
}

void check_plot(const Plot& plot, const std::vector<std::string>& axes, const std::string& where) {
  require_one_of(figure_families(), "plot family", plot.family, where + ".family");
  if (!is_figure_name(plot.name))
    throw FieldFault{fmt::format(
        "{}.name is {}: a figure's files are called by it, so it is made of 1 to 100 letters, "
        "digits, '_', '-' and '.', and begins with a letter, a digit or '_'",
        where, shown(plot.name))};
  require_one_of(axes, "axis", plot.x, where + ".x");
  std::vector<std::string> panels = {"model", "weights", "dtype", "weight_format"};
  panels.insert(panels.end(), axes.begin(), axes.end());
  if (!plot.panels.empty()) require_one_of(panels, "panels", plot.panels, where + ".panels");
  if (plot.family == "map") require_one_of(axes, "axis", plot.rows, where + ".rows");
  if (plot.family == "stack" && plot.stack.empty())
    throw FieldFault{where + ".stack is empty: name the metrics that a bar is made of"};
  std::vector<std::string> series = panels;
  series.emplace_back("method");
  require_one_of(series, "series", plot.series, where + ".series");
}

void check_plots(const Manifest& manifest) {
  require_most(manifest.plots.size(), kMostPlots, "plots");
  std::vector<std::string> axes;
  for (const auto& [name, values] : manifest.settings.axes) axes.push_back(name);
  for (size_t i = 0; i < manifest.plots.size(); ++i) {
    check_plot(manifest.plots[i], axes, fmt::format("plots.{}", i));
    for (size_t j = 0; j < i; ++j)
      if (manifest.plots[i].name == manifest.plots[j].name)
        throw FieldFault{fmt::format("plots: two figures are called {}; give one another \"name\"",
                                     shown(manifest.plots[i].name))};
  }
}

// Converts manifests of older programs, in which "paper_numbers" may be one name instead of a list,
// and the units of axes may be null.
Fields modernized(Fields fields) {
  if (Value& names = fields["paper_numbers"]; names.is_text())
    names = names.text().empty() ? Values{} : Values{names.text()};
  if (Value& units = fields["axis_units"]; units.is_fields())
    for (auto& [axis, unit] : units.fields())
      if (unit.is_null()) unit = "";
  return fields;
}

}  // namespace

bool is_case_of(const Fields& one_case, const PlannedModel& model, const std::string& dtype) {
  const auto has = [&](const char* name, const std::string& value) {
    const auto named = one_case.find(name);
    return named == one_case.end() || named->second == Value(value);
  };
  return has("model", model.model) && has("weights", model.weights) && has("dtype", dtype) &&
         has("weight_format", model.weight_format.empty() ? "plain" : model.weight_format);
}

bool is_figure_name(std::string_view name) {
  const auto is_plain = [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.');
  };
  return !name.empty() && name.size() <= 100 && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), is_plain);
}

const std::vector<std::string>& figure_families() {
  static const std::vector<std::string> kFamilies = {"lines", "map", "stack", "attention",
                                                     "timeline"};
  return kFamilies;
}

Manifest read_manifest(const Value& found, const std::string& source) {
  try {
    if (!found.is_fields())
      throw FieldFault{"the file must be a JSON object, found " + shown(found)};
    return read_fields<Manifest>(modernized(found.fields()));
  } catch (const FieldFault& fault) {
    raise("{}: {}", source, fault.text);
  }
}

void check_manifest(const Manifest& manifest, const std::string& source) {
  try {
    check_settings(manifest.settings);
    if (manifest.points < 0 || manifest.points > kMostPlannedPoints)
      throw FieldFault{
          fmt::format("points must be 0 to {}, found {}", kMostPlannedPoints, manifest.points)};
    require_most(manifest.metrics.size(), kMostAxisValues, "metrics");
    if (manifest.metrics.empty()) throw FieldFault{"metrics must name at least one metric"};
    require_most(manifest.left_out.size(), kMostAxisValues, "left_out");
    for (const std::string& name : manifest.paper_numbers)
      require_one_of(known_paper_numbers(), "paper_numbers", name, "paper_numbers");
    if (!manifest.mean_over.empty() && !manifest.settings.axes.contains(manifest.mean_over))
      throw FieldFault{fmt::format("mean_over names no axis: {}", shown(manifest.mean_over))};
    check_plots(manifest);
  } catch (const FieldFault& fault) {
    raise("{}: {}", source, fault.text);
  }
}

void check_made_manifest(const Manifest& manifest, const std::string& source) {
  check_manifest(read_manifest(written_fields(manifest), source), source);
}

}  // namespace reprise::results
