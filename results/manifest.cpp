#include "results/manifest.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "results/paper_numbers.h"
#include "results/record.h"

namespace reprise::results {
namespace {

constexpr size_t kMostPlots = 100;
constexpr size_t kMostAxisValues = 1000;

// Reads a text of at most `most` bytes.
std::string bounded(JsonObject& object, const std::string& key, size_t most,
                    const std::string& fallback) {
  std::string text = object.string(key, fallback);
  if (!is_plain_text(text, most))
    raise("{} must be a text of at most {} bytes without control characters, found {}",
          object.where(key), most, shown(text));
  return text;
}

std::string bounded_name(JsonObject& object, const std::string& key) {
  (void)object.at(key);  // throws Error if it is missing
  return bounded(object, key, kLongestName, "");
}

// Returns an empty list if the key is missing.
const Json& optional_list(JsonObject& object, const std::string& key, size_t most) {
  static const Json kNone = Json::array();
  if (!object.has(key)) return kNone;
  const Json& list = object.at(key);
  if (!list.is_array()) raise("{} must be a list, found {}", object.where(key), shown(list));
  if (list.size() > most)
    raise("{} has {} entries, at most {} are allowed", object.where(key), list.size(), most);
  return list;
}

Json names_at(JsonObject& object, const std::string& key) {
  const Json& list = optional_list(object, key, kMostAxisValues);
  for (const Json& name : list)
    if (!name.is_string() || !is_plain_text(name.get_ref<const std::string&>(), kLongestName))
      raise("{} must hold names of at most {} bytes without control characters, found {}",
            object.where(key), kLongestName, shown(name));
  return list;
}

// Reads axes with their values: numbers or words, at least one each.
Json axes_of(JsonObject& settings) {
  JsonObject axes = settings.object("axes");
  for (const auto& [name, values] : axes.json().items()) {
    if (name.empty() || !is_plain_text(name, kLongestName))
      raise("{} names an axis {}: a name has 1 to {} bytes and no control characters",
            settings.where("axes"), shown(name), kLongestName);
    if (!values.is_array() || values.empty() || values.size() > kMostAxisValues)
      raise("{} must be a list of 1 to {} values, found {}", axes.where(name), kMostAxisValues,
            shown(values));
    for (const Json& value : values)
      if (!(value.is_string() &&
            is_plain_text(value.get_ref<const std::string&>(), kLongestName)) &&
          !(value.is_number() && std::abs(value.get<double>()) <= kLargestNumber))
        raise("{} must hold numbers up to {:g} or words, found {}", axes.where(name),
              kLargestNumber, shown(value));
  }
  return axes.json();
}

// Reads a list of objects, each converted by `read`.
template <typename Read>
Json objects_at(JsonObject& object, const std::string& key, size_t most, const std::string& source,
                const std::string& path, Read&& read) {
  Json read_ones = Json::array();
  const Json& list = optional_list(object, key, most);
  for (size_t i = 0; i < list.size(); ++i) {
    JsonObject entry(list[i], source, fmt::format("{}{}.{}", path, key, i));
    read_ones.push_back(read(entry));
  }
  return read_ones;
}

Json settings_of(JsonObject& whole, const std::string& source) {
  JsonObject settings = whole.object("settings");
  Json checked = settings.json();
  checked["axes"] = axes_of(settings);
  for (const char* key : {"name", "kind", "scale"})
    checked[key] = bounded(settings, key, kLongestName, "");
  checked["dtypes"] = names_at(settings, "dtypes");
  checked["models"] = objects_at(
      settings, "models", kMostAxisValues, source, "settings.", [](JsonObject& entry) -> Json {
        Json model = {{"model", bounded(entry, "model", kLongestName, "")},
                      {"weights", bounded(entry, "weights", kLongestName, "")}};
        if (entry.has("weight_format"))
          model["weight_format"] = bounded(entry, "weight_format", kLongestName, "");
        return model;
      });
  checked["methods"] = objects_at(
      settings, "methods", kMostAxisValues, source, "settings.", [](JsonObject& entry) -> Json {
        return {
            {"name", bounded_name(entry, "name")},
            {"options", entry.has("options") ? entry.object("options").json() : Json::object()}};
      });
  double points = static_cast<double>(std::max<size_t>(1, checked["models"].size()) *
                                      std::max<size_t>(1, checked["dtypes"].size()) *
                                      std::max<size_t>(1, checked["methods"].size()));
  for (const auto& [name, values] : checked["axes"].items())
    points *= static_cast<double>(values.size());
  if (points > static_cast<double>(kMostPlannedPoints))
    raise("{} spans {:.0f} points, at most {} are allowed", whole.where("settings"), points,
          kMostPlannedPoints);
  return checked;
}

void require_one_of(const std::vector<std::string>& known, const std::string& what,
                    const std::string& name, const std::string& where) {
  if (std::find(known.begin(), known.end(), name) == known.end())
    raise("{}: {}", where, unknown_name(what, name, known));
}

Json plot_of(JsonObject& plot, const std::vector<std::string>& axes) {
  Json checked = {{"family", bounded(plot, "family", kLongestName, "lines")},
                  {"x", bounded_name(plot, "x")},
                  {"y", bounded(plot, "y", kLongestName, "")},
                  {"series", bounded(plot, "series", kLongestName, "method")},
                  {"name", bounded_name(plot, "name")},
                  {"title", bounded(plot, "title", kLongestText, "")},
                  {"log_x", plot.boolean("log_x", false)},
                  {"log_y", plot.boolean("log_y", false)},
                  {"panels", bounded(plot, "panels", kLongestName, "")},
                  {"rows", bounded(plot, "rows", kLongestName, "")},
                  {"reference", bounded(plot, "reference", kLongestName, "")},
                  {"stack", names_at(plot, "stack")}};
  const std::string family = checked["family"], name = checked["name"];
  require_one_of(figure_families(), "plot family", family, plot.where("family"));
  if (!is_figure_name(name))
    raise(
        "{} is {}: a figure's files are called by it, so it is made of 1 to 100 letters, digits, "
        "'_', '-' and '.', and begins with a letter, a digit or '_'",
        plot.where("name"), shown(name));
  require_one_of(axes, "axis", checked["x"], plot.where("x"));
  std::vector<std::string> panels = {"model", "dtype", "weight_format"};
  panels.insert(panels.end(), axes.begin(), axes.end());
  if (!checked["panels"].get<std::string>().empty())
    require_one_of(panels, "panels", checked["panels"], plot.where("panels"));
  if (family == "map") require_one_of(axes, "axis", checked["rows"], plot.where("rows"));
  if (family == "stack" && checked["stack"].empty())
    raise("{} is empty: name the metrics that a bar is made of", plot.where("stack"));
  std::vector<std::string> series = panels;
  series.emplace_back("method");
  require_one_of(series, "series", checked["series"], plot.where("series"));
  return checked;
}

Json plots_of(JsonObject& whole, const Json& axes, const std::string& source) {
  std::vector<std::string> names;
  for (const auto& [name, values] : axes.items()) names.push_back(name);
  Json plots = objects_at(whole, "plots", kMostPlots, source, "",
                          [&](JsonObject& plot) { return plot_of(plot, names); });
  for (size_t i = 0; i < plots.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (plots[i]["name"] == plots[j]["name"])
        raise("{}: two figures are called {}; give one another \"name\"", whole.where("plots"),
              shown(plots[i]["name"]));
  return plots;
}

Json caption_of(JsonObject& whole) {
  const Json none = Json::object();
  JsonObject caption = whole.has("caption") ? whole.object("caption") : JsonObject(none, "");
  Json checked;
  for (const char* key : {"title", "paper", "figure", "note"})
    checked[key] = bounded(caption, key, kLongestText, "");
  return checked;
}

// Reads one name, as older programs wrote it, or a list of names.
Json paper_numbers_at(JsonObject& whole) {
  Json names = Json::array();
  if (!whole.has("paper_numbers") || whole.at("paper_numbers").is_array()) {
    names = names_at(whole, "paper_numbers");
  } else if (const std::string name = bounded_name(whole, "paper_numbers"); !name.empty()) {
    names.push_back(name);
  }
  for (const Json& name : names)
    require_one_of(known_paper_numbers(), "paper_numbers", name, whole.where("paper_numbers"));
  return names;
}

Json units_of(JsonObject& whole) {
  if (!whole.has("axis_units")) return Json::object();
  JsonObject units = whole.object("axis_units");
  Json checked = Json::object();  // null means no unit
  for (const auto& [axis, unit] : units.json().items())
    checked[axis] = bounded(units, axis, kLongestName, "");
  return checked;
}

}  // namespace

bool is_figure_name(std::string_view name) {
  const auto is_plain = [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.');
  };
  return !name.empty() && name.size() <= 100 && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), is_plain);
}

const std::vector<std::string>& figure_families() {
  static const std::vector<std::string> kFamilies = {"lines", "map", "stack", "attention"};
  return kFamilies;
}

Json checked_manifest(const Json& found, const std::string& source) {
  JsonObject whole(found, source);
  Json checked = {{"config_hash", bounded(whole, "config_hash", kLongestName, "")},
                  {"settings", settings_of(whole, source)},
                  {"identity", whole.has("identity") ? whole.object("identity").json() : Json()},
                  {"mixed", whole.boolean("mixed", false)},
                  {"points", whole.integer_in("points", 0, kMostPlannedPoints, 0)},
                  {"caption", caption_of(whole)},
                  {"metrics", names_at(whole, "metrics")},
                  {"paper_numbers", paper_numbers_at(whole)},
                  {"axis_units", units_of(whole)}};
  checked["left_out"] =
      objects_at(whole, "left_out", kMostAxisValues, source, "", [](JsonObject& entry) -> Json {
        return {{"method", bounded(entry, "method", kLongestName, "")},
                {"reason", bounded(entry, "reason", kLongestText, "")}};
      });
  checked["plots"] = plots_of(whole, checked["settings"]["axes"], source);
  if (checked["metrics"].empty()) raise("{} must name at least one metric", whole.where("metrics"));
  return checked;
}

}  // namespace reprise::results
