#include "experiments/framework/overrides.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "core/base/error.h"

namespace reprise::experiments {
namespace {

constexpr const char* kStandInKey = "stand_in";

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

Value value_of(const std::string& text, const std::string& assignment) {
  if (!is_json(text)) return text;
  return parse_json(text, "--set \"" + assignment + "\"");
}

// True if the value of the key at `path` is always a list, even if the file does not have the key.
bool is_list_key(const std::vector<std::string>& path) {
  constexpr std::array kLists = {"models", "dtypes", "methods", "series", "metrics"};
  if (path.size() == 1) return std::find(kLists.begin(), kLists.end(), path[0]) != kLists.end();
  return path.size() == 2 && path[0] == "sweep";
}

// Reads a JSON list, a single value, or values separated by commas: a,b and 8,16.
Values list_of(const std::string& text, const std::string& assignment) {
  if (is_json(text)) {
    const Value value = parse_json(text, "--set \"" + assignment + "\"");
    return value.is_list() ? value.list() : Values{value};
  }
  if (const std::string list = "[" + text + "]"; is_json(list))
    return parse_json(list, "--set \"" + assignment + "\"").list();
  Values list;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end == begin && text.size() > 0)
      raise("--set \"{}\": entry {} of the list is empty", assignment, list.size() + 1);
    list.push_back(value_of(text.substr(begin, end - begin), assignment));
    begin = end + 1;
  }
  return list;
}

// Applies `patch` to `fields` as a JSON merge patch (RFC 7396): null removes a field, an object is
// merged into an object, and any other value replaces the old value.
void merge(Fields& fields, const Fields& patch) {
  for (const auto& [name, value] : patch) {
    if (value.is_null()) {
      fields.erase(name);
    } else if (value.is_fields()) {
      Value& part = fields[name];
      if (!part.is_fields()) part = Fields();
      merge(part.fields(), value.fields());
    } else {
      fields[name] = value;
    }
  }
}

// Returns the element of `list` with the index `name`.
Value& list_element(Values& list, const std::string& name, const std::string& assignment) {
  size_t index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (error != std::errc() || end != name.data() + name.size() || index >= list.size())
    raise("--set \"{}\": \"{}\" is no index into a list of {}", assignment, name, list.size());
  return list[index];
}

// True if `json` has a value at `path`. An index stands for any element of its list.
bool has_path(const Value& json, std::span<const std::string> path) {
  if (path.empty()) return true;
  const auto rest = path.subspan(1);
  if (json.is_list())
    return std::any_of(json.list().begin(), json.list().end(),
                       [&](const Value& element) { return has_path(element, rest); });
  return json.contains(path[0]) && has_path(field_of(json, path[0]), rest);
}

// True if the file itself, one of its scales or a "stand_in" has a value at `path`.
bool has_path_anywhere(const Value& file, const std::vector<std::string>& path) {
  if (has_path(file, path)) return true;
  const auto& names = scale_names();
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const Value& scale = field_of(field_of(file, "scales"), name);
    return has_path(scale, path) || has_path(field_of(scale, kStandInKey), path);
  });
}

// Removes the last key of `path` from `parent`. Throws Error for a key that the file has nowhere. A
// key that another scale or the stand-in has is no error, because one command may read both.
void remove_key(Fields& parent, const std::vector<std::string>& path, const Value& file,
                const std::string& assignment) {
  const std::string& key = path.back();
  const bool was_there = !parent[key].is_null();
  parent.erase(key);
  if (was_there || has_path_anywhere(file, path)) return;
  std::vector<std::string> keys;
  for (const auto& [name, value] : parent) keys.push_back(name);
  const std::string nearest = nearest_name(key, keys);
  raise("--set \"{}\": there is no key \"{}\" to remove{}", assignment, key,
        nearest.empty() ? "" : fmt::format(", did you mean \"{}\"?", nearest));
}

}  // namespace

const std::vector<std::string>& scale_names() {
  static const std::vector<std::string> names = {"smoke", "desk", "paper"};
  return names;
}

Value with_scale(const Value& file, const std::string& scale, const std::string& source,
                 Inputs inputs) {
  const std::vector<std::string>& names = scale_names();
  if (std::find(names.begin(), names.end(), scale) == names.end())
    raise("{}", unknown_name("scale", scale, names));
  JsonObject reader(file, source);
  Fields merged = reader.fields();
  merged.erase("scales");
  if (!reader.has("scales")) return merged;
  JsonObject scales = reader.object("scales");
  for (const std::string& name : names)
    if (scales.has(name) && scales.at(name).contains("scales"))
      raise("{} cannot hold scales itself", scales.where(name));
  scales.reject_unknown();
  if (!scales.has(scale)) return merged;
  JsonObject changes = scales.object(scale);
  merge(merged, changes.fields());
  merged.erase(kStandInKey);
  if (!changes.has(kStandInKey)) return merged;
  JsonObject stand_in = changes.object(kStandInKey);
  if (!stand_in.has("note"))
    raise("{} has no \"note\": figures must say what stands in for what",
          changes.where(kStandInKey));
  if (inputs == Inputs::kStandIn) merge(merged, stand_in.fields());
  return merged;
}

bool has_stand_in(const Value& file, const std::string& scale) {
  return field_of(field_of(file, "scales"), scale).contains(kStandInKey);
}

void apply_set(Value& experiment, const std::string& assignment, const Value& file) {
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0)
    raise("--set \"{}\": expected key=value, such as --set repetitions=3", assignment);
  // Records and hashes are JSON, where invalid UTF-8 would be replaced, so it is refused here.
  if (parse_json(json_text(assignment), "--set").text() != assignment)
    raise("--set \"{}\" is not valid UTF-8", assignment);
  const std::vector<std::string> path = path_elements(assignment.substr(0, equals), assignment);
  Value* place = &experiment;
  Fields* parent = nullptr;
  for (const std::string& name : path) {
    parent = nullptr;
    if (place->is_null()) *place = Fields();
    if (place->is_list()) {
      place = &list_element(place->list(), name, assignment);
    } else if (place->is_fields()) {
      parent = &place->fields();
      place = &(*parent)[name];
    } else {
      raise("--set \"{}\": what stands before \"{}\" is {}, not an object", assignment, name,
            shown(*place));
    }
  }
  const std::string text = assignment.substr(equals + 1);
  if (text == "null" && parent != nullptr) return remove_key(*parent, path, file, assignment);
  if (place->is_list() || is_list_key(path)) {
    *place = list_of(text, assignment);
  } else {
    *place = value_of(text, assignment);
  }
}

}  // namespace reprise::experiments
