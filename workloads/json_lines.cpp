#include "workloads/json_lines.h"

#include <algorithm>
#include <string_view>

#include "core/base/error.h"

namespace reprise::workloads {

void for_each_line(const std::filesystem::path& path,
                   const std::function<void(JsonObject& object)>& read) {
  const std::string text = read_file(path);
  if (text.empty()) raise("{} is empty; one JSON object a line is expected", path.string());
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    const std::string where = fmt::format("{}:{}", path.string(), ++number);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos)
      raise("{}: the line is empty; remove it", where);
    const Value json = parse_json(line, where);
    JsonObject object(json, where);
    read(object);
    object.reject_unknown();
    begin = end + 1;
  }
}

std::vector<std::string> texts_of(JsonObject& object, const std::string& key) {
  const Value& list = object.at(key);
  if (!list.is_list())
    raise("{} must be a list of texts, found {}", object.where(key), json_type(list));
  std::vector<std::string> texts;
  for (const Value& text : list.list()) {
    if (!text.is_text())
      raise("{} must be a list of texts, found {} in it", object.where(key), json_type(text));
    texts.push_back(text.text());
  }
  return texts;
}

std::vector<std::string> answers_of(JsonObject& object, const std::string& key) {
  std::vector<std::string> answers = texts_of(object, key);
  if (answers.empty())
    raise("{} is an empty list: without an answer nothing can be scored", object.where(key));
  return answers;
}

}  // namespace reprise::workloads
