// Reads JSON that people and other programs wrote. Size and depth are bounded, unknown keys are
// found, and errors name file and key. Also writes values as JSON.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/value.h"

namespace reprise {

// Returns the whole file as bytes. Throws Error naming the path if it cannot be read or is larger
// than `max_bytes`.
std::string read_file(const std::filesystem::path& path, size_t max_bytes = size_t{1} << 30);

// Parses `text`; `source` names it in errors. Throws Error if it is no valid JSON, is nested deeper
// than 200 levels, or has a key twice in one object.
Value parse_json(std::string_view text, const std::string& source);
Value read_json(const std::filesystem::path& path);
// True if `text` is valid JSON. Depth and repeated keys do not matter.
[[nodiscard]] bool is_json(std::string_view text);

// JSON in one line. Bytes that are no valid UTF-8 become U+FFFD. Equal values have equal texts,
// except that 4 and 4.0 differ. Hashes of experiment points and settings are computed from this
// form.
[[nodiscard]] std::string json_text(const Value& value);
[[nodiscard]] std::string json_text(const Fields& fields);
// JSON in several lines, each level indented by `indent` more spaces.
[[nodiscard]] std::string json_text(const Value& value, int indent);
[[nodiscard]] std::string json_text(const Fields& fields, int indent);
// Returns a value's JSON, cut at 100 bytes, for quoting the value in a message.
[[nodiscard]] std::string shown(const Value& value);
// "object", "array", "string", "number", "boolean" or "null".
[[nodiscard]] const char* json_type(const Value& value);

// Typed access to one JSON object. Remembers which keys were asked for, so that reject_unknown()
// can find misspelt ones. Every error names the source and the path of the key.
class JsonObject {
 public:
  // `object` must outlive this reader. Throws Error if it is not an object.
  JsonObject(const Value& object, std::string source, std::string path = "");
  JsonObject(const Fields& object, std::string source, std::string path = "")
      : object_(object), source_(std::move(source)), path_(std::move(path)) {}
  JsonObject(Value&&, std::string, std::string = "") = delete;
  JsonObject(Fields&&, std::string, std::string = "") = delete;

  [[nodiscard]] bool has(
      const std::string& key) const;  // present and not null; counts as asked for
  [[nodiscard]] const Value& at(const std::string& key);  // throws if missing or null
  // Returns the entries of a list. Throws Error if the key's value is not a list.
  [[nodiscard]] const Values& list(const std::string& key);
  [[nodiscard]] JsonObject object(const std::string& key);
  [[nodiscard]] int64_t integer(const std::string& key);
  [[nodiscard]] int64_t integer(const std::string& key, int64_t fallback);
  // Throws Error if the value is outside [low, high].
  [[nodiscard]] int64_t integer_in(const std::string& key, int64_t low, int64_t high);
  [[nodiscard]] int64_t integer_in(const std::string& key, int64_t low, int64_t high,
                                   int64_t fallback);
  [[nodiscard]] double number(const std::string& key);
  [[nodiscard]] double number(const std::string& key, double fallback);
  [[nodiscard]] bool boolean(const std::string& key, bool fallback);
  [[nodiscard]] std::string string(const std::string& key);
  [[nodiscard]] std::string string(const std::string& key, const std::string& fallback);
  [[nodiscard]] std::vector<int64_t> integers(const std::string& key);

  // Marks keys as known without reading them.
  void allow(std::initializer_list<const char*> keys);
  // Marks all keys as known. For files of other programs, which may add keys.
  void allow_all();
  // Throws Error for the first key that was never asked for, and offers the nearest known key.
  void reject_unknown() const;
  // The keys asked for so far, sorted.
  [[nodiscard]] std::vector<std::string> known() const { return {known_.begin(), known_.end()}; }

  [[nodiscard]] std::string where(const std::string& key) const;  // "file: key \"a.b\""
  [[nodiscard]] const std::string& source() const { return source_; }
  [[nodiscard]] const Fields& fields() const { return object_; }

 private:
  const Fields& object_;
  std::string source_;
  std::string path_;
  mutable std::set<std::string> known_;
};

}  // namespace reprise
