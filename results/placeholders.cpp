#include "results/placeholders.h"

#include <algorithm>

#include "core/base/error.h"

namespace reprise::results {
namespace {

// Returns the path with a slash added before it and none after it, so that a slash precedes each
// part.
std::string with_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return "/" + path;
}

// Returns the last parts of a path, as many as distinguish it from the other texts in `all`.
std::string distinct_name(const Value& value, const Values& all) {
  const std::string path = with_slash(value.text());
  size_t begin = path.rfind('/');
  const auto is_of_another = [&](const Value& other) {
    return other.is_text() && other != value &&
           with_slash(other.text()).ends_with(path.substr(begin));
  };
  while (begin > 0 && std::any_of(all.begin(), all.end(), is_of_another))
    begin = path.rfind('/', begin - 1);
  return path.substr(begin + 1);
}

std::string word_of(const Value& value, const Values& all) {
  return value.is_text() ? distinct_name(value, all) : shown(value);
}

}  // namespace

std::string short_model_name(const std::string& path) { return distinct_name(path, {}); }

std::string fill_placeholders(const std::string& text, const std::string& where,
                              std::span<const std::string> known,
                              const std::function<std::string(const std::string&)>& value_of) {
  std::string filled;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_brace = c == '{' || c == '}';
    if (is_brace && i + 1 < text.size() && text[i + 1] == c) {
      filled += c;
      ++i;
      continue;
    }
    if (c == '}') raise("{} has a }} without its {{; write }}}} for a brace", where);
    if (c != '{') {
      filled += c;
      continue;
    }
    const size_t end = text.find('}', i);
    if (end == std::string::npos)
      raise("{} has a {{ without its }}; write {{{{ for a brace", where);
    const std::string name = text.substr(i + 1, end - i - 1);
    if (std::find(known.begin(), known.end(), name) == known.end())
      raise("{}: {}", where, unknown_name("placeholder", name, known));
    filled += value_of(name);
    i = end;
  }
  return filled;
}

std::vector<std::string> placeholder_names(std::vector<std::string> axes) {
  for (const char* name : {"model", "dtype", "method", "repetitions"}) axes.emplace_back(name);
  return axes;
}

std::string values_text(const Values& values) {
  Values different;
  for (const Value& value : values)
    if (std::find(different.begin(), different.end(), value) == different.end())
      different.push_back(value);
  if (different.empty()) return "-";
  const bool are_numbers = std::all_of(different.begin(), different.end(),
                                       [](const Value& value) { return value.is_number(); });
  if (are_numbers)
    std::sort(different.begin(), different.end(),
              [](const Value& a, const Value& b) { return a.number() < b.number(); });
  const auto word = [&](const Value& value) { return word_of(value, different); };
  if (are_numbers && different.size() > 2)
    return word(different.front()) + " to " + word(different.back());
  std::string text = word(different.front());
  for (size_t i = 1; i < different.size(); ++i)
    text += (i + 1 == different.size() ? " and " : ", ") + word(different[i]);
  return text;
}

Values values_in(std::span<const Record* const> records, const std::string& setting) {
  Values values;
  for (const Record* record : records)
    for (const Fields* settings : {&record->settings.resolved, &record->settings.requested}) {
      const Value& found = field_of(*settings, setting);
      if (found.is_null() || found.is_list() || found.is_fields()) continue;
      values.push_back(found);
      break;
    }
  return values;
}

}  // namespace reprise::results
