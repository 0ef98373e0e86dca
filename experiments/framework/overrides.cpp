#include "experiments/framework/overrides.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace reprise::experiments {
namespace {

std::vector<std::string> path_elements(const std::string& path, const std::string& assignment) {
  std::vector<std::string> elements;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    elements.push_back(path.substr(begin, end - begin));
    if (elements.back().empty())
      raise("--set \"{}\": the key before '=' has an empty part; write it as a.b=value",
            assignment);
    begin = end + 1;
  }
  return elements;
}

Json value_of(const std::string& text, const std::string& assignment) {
  if (!Json::accept(text)) return text;
  return parse_json(text, "--set \"" + assignment + "\"");
}

// True for keys whose value is a list, whether or not the file has them.
bool is_list_key(const std::vector<std::string>& path) {
  constexpr std::array kLists = {"models", "dtypes", "methods", "series", "metrics"};
  if (path.size() == 1) return std::find(kLists.begin(), kLists.end(), path[0]) != kLists.end();
  return path.size() == 2 && path[0] == "sweep";
}

// Reads a JSON list, a single value, or values separated by commas: a,b and 8,16.
Json list_of(const std::string& text, const std::string& assignment) {
  if (Json::accept(text)) {
    const Json value = parse_json(text, "--set \"" + assignment + "\"");
    return value.is_array() ? value : Json::array({value});
  }
  if (const std::string list = "[" + text + "]"; Json::accept(list))
    return parse_json(list, "--set \"" + assignment + "\"");
  Json list = Json::array();
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end == begin && text.size() > 0)
      raise("--set \"{}\": entry {} of the list is empty", assignment, list.size() + 1);
    list.push_back(value_of(text.substr(begin, end - begin), assignment));
    begin = end + 1;
  }
  return list;
}

// Records and hashes hold JSON, which must be UTF-8.
void require_utf8(const std::string& assignment) {
  try {
    (void)Json(assignment).dump();
  } catch (const Json::exception&) {
    raise("--set \"{}\" is not valid UTF-8", assignment);
  }
}

// Returns the element of `list` with the index `name`.
Json& list_element(Json& list, const std::string& name, const std::string& assignment) {
  size_t index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (error != std::errc() || end != name.data() + name.size() || index >= list.size())
    raise("--set \"{}\": \"{}\" is no index into a list of {}", assignment, name, list.size());
  return list[index];
}

}  // namespace

const std::vector<std::string>& scale_names() {
  static const std::vector<std::string> names = {"smoke", "desk", "paper"};
  return names;
}

Json with_scale(const Json& file, const std::string& scale, const std::string& source) {
  const std::vector<std::string>& names = scale_names();
  if (std::find(names.begin(), names.end(), scale) == names.end())
    raise("{}", unknown_name("scale", scale, names));
  JsonObject reader(file, source);
  Json merged = file;
  merged.erase("scales");
  if (!reader.has("scales")) return merged;
  JsonObject scales = reader.object("scales");
  for (const std::string& name : names)
    if (scales.has(name) && scales.at(name).is_object() && scales.at(name).contains("scales"))
      raise("{} cannot hold scales itself", scales.where(name));
  scales.reject_unknown();
  if (scales.has(scale)) merged.merge_patch(scales.object(scale).json());
  return merged;
}

void apply_set(Json& experiment, const std::string& assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0)
    raise("--set \"{}\": expected key=value, such as --set repetitions=3", assignment);
  require_utf8(assignment);
  const std::vector<std::string> path = path_elements(assignment.substr(0, equals), assignment);
  Json* place = &experiment;
  for (const std::string& name : path) {
    if (place->is_null()) *place = Json::object();
    if (place->is_array()) {
      place = &list_element(*place, name, assignment);
    } else if (place->is_object()) {
      place = &(*place)[name];
    } else {
      raise("--set \"{}\": what stands before \"{}\" is {}, not an object", assignment, name,
            place->dump().substr(0, 100));
    }
  }
  const std::string text = assignment.substr(equals + 1);
  *place = place->is_array() || is_list_key(path) ? list_of(text, assignment)
                                                  : value_of(text, assignment);
}

}  // namespace reprise::experiments
