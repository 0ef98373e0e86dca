// A value inside a JSON file, with its file and its path in it, so that every error can name both.
#pragma once

#include <string>

#include "core/base/error.h"
#include "core/base/json.h"

namespace reprise::tokenizer {

struct JsonPlace {
  const Value& value;
  std::string source;  // name of the file
  std::string path;    // path of the value: "pre_tokenizer.pretokenizers[1]"

  [[nodiscard]] JsonPlace child(const std::string& key) const {
    const std::string child_path = path.empty() ? key : path + "." + key;
    if (!value.is_fields()) fail("must be an object");
    const auto found = value.fields().find(key);
    if (found == value.fields().end()) raise("{}: key \"{}\" is missing", source, child_path);
    return {found->second, source, child_path};
  }
  [[nodiscard]] JsonPlace item(size_t i) const {
    return {value.list()[i], source, path + "[" + std::to_string(i) + "]"};
  }
  [[nodiscard]] JsonObject object() const { return {value, source, path}; }
  [[nodiscard]] size_t list_size() const {
    if (!value.is_list()) fail("must be a list");
    return value.list().size();
  }
  [[nodiscard]] std::string where() const { return source + ": key \"" + path + "\""; }
  [[noreturn]] void fail(const std::string& complaint) const {
    std::string found = json_text(value);
    if (found.size() > 100) found = found.substr(0, 100) + "...";
    raise("{} {}, found {}", where(), complaint, found);
  }
  [[nodiscard]] std::string string() const {
    if (!value.is_text()) fail("must be a string");
    return value.text();
  }
  // Returns the component's name, the value of its key "type". Throws Error unless it is one of
  // `known`.
  [[nodiscard]] std::string type(std::initializer_list<const char*> known) const {
    const JsonPlace place = child("type");
    const std::string name = place.string();
    for (const char* candidate : known)
      if (name == candidate) return name;
    raise("{}: {}", place.where(),
          unknown_name("or unsupported component", name,
                       std::vector<std::string>(known.begin(), known.end())));
  }
};

// Reads a pattern as tokenizer files write it: {"String": "..."} or {"Regex": "..."}.
class Regex;
Regex read_pattern(const JsonPlace& place);

}  // namespace reprise::tokenizer
