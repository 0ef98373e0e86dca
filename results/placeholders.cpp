#include "results/placeholders.h"

#include <algorithm>

#include "core/base/error.h"

namespace reprise::results {
namespace {

std::string word_of(const Value& value) {
  return value.is_text() ? short_model_name(value.text()) : shown(value);
}

}  // namespace

std::string short_model_name(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.substr(path.find_last_of('/') + 1);
}

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
  if (different.size() == 1) return word_of(different.front());
  if (are_numbers && different.size() > 2)
    return word_of(different.front()) + " to " + word_of(different.back());
  std::string text = word_of(different.front());
  for (size_t i = 1; i < different.size(); ++i)
    text += (i + 1 == different.size() ? " and " : ", ") + word_of(different[i]);
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
