#include "core/base/json.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace reprise {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxDepth = 200;  // values are destroyed and written recursively

// Returns nlohmann's message for a syntax error, without the library's name and the error number.
std::string reason_of(const Json::exception& error) {
  const std::string text = error.what();
  const size_t end = text.find("] ");
  return end == std::string::npos ? text : text.substr(end + 2);
}

// Builds a value from the events of nlohmann's parser.
class ValueBuilder final : public Json::json_sax_t {
 public:
  explicit ValueBuilder(const std::string& source) : source_(source) {}

  [[nodiscard]] Value take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }  // JSON has none
  bool start_object(size_t /*elements*/) override { return open(Fields()); }
  bool start_array(size_t /*elements*/) override { return open(Values()); }
  bool key(string_t& name) override {
    const auto [place, is_new] = open_.back()->fields().try_emplace(std::move(name));
    if (!is_new) raise("{}: key {} appears twice in one object", source_, shown(place->first));
    next_ = &place->second;
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(size_t /*position*/, const std::string& /*token*/,
                   const Json::exception& error) override {
    raise("{} is not valid JSON: {}", source_, reason_of(error));
  }

 private:
  // Returns where the next value goes: the root, a new last entry of a list, or the field of a key.
  Value& place() {
    if (open_.empty()) return root_;
    return open_.back()->is_list() ? open_.back()->list().emplace_back() : *next_;
  }
  bool add(Value value) {
    place() = std::move(value);
    return true;
  }
  bool open(Value empty) {
    if (open_.size() > kMaxDepth)
      raise("{}: JSON is nested deeper than {} levels", source_, kMaxDepth);
    Value& opened = place() = std::move(empty);
    open_.push_back(&opened);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string& source_;
  Value root_;
  std::vector<Value*> open_;  // lists and objects that contain the next value, outermost first
  Value* next_ = nullptr;     // the field of the last key
};

// Writes values in the format of nlohmann's library, without first copying them into its type.
class Writer {
 public:
  // `indent`: spaces of each level; below 0: all in one line.
  explicit Writer(int indent) : indent_(indent) {}

  template <typename T>
  std::string text_of(const T& value) {
    write(value);
    return std::move(text_);
  }

 private:
  void write(const Value& value) {
    value.visit([&](const auto& held) { write(held); });
  }
  void write(const Values& list) {
    write_all(list, '[', ']', [&](const Value& one) { write(one); });
  }
  void write(const Fields& fields) {
    write_all(fields, '{', '}', [&](const auto& field) {
      write_leaf(field.first);
      text_ += indent_ < 0 ? ":" : ": ";
      write(field.second);
    });
  }
  void write(std::monostate /*null*/) { text_ += "null"; }
  template <typename T>
  requires(std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) void write(const T& leaf) {
    write_leaf(leaf);
  }
  template <typename T>
  void write_leaf(const T& leaf) {
    text_ += Json(leaf).dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  }
  template <typename List, typename WriteOne>
  void write_all(const List& list, char begin, char end, WriteOne&& write_one) {
    text_ += begin;
    ++level_;
    bool is_first = true;
    for (const auto& one : list) {
      if (!std::exchange(is_first, false)) text_ += ',';
      break_line();
      write_one(one);
    }
    --level_;
    if (!list.empty()) break_line();
    text_ += end;
  }
  void break_line() {
    if (indent_ < 0) return;
    text_ += '\n';
    text_.append(static_cast<size_t>(level_ * indent_), ' ');
  }

  const int indent_;
  int level_ = 0;
  std::string text_;
};

const Fields& fields_in(const Value& object, const std::string& source, const std::string& path) {
  if (!object.is_fields())
    raise("{}: {} must be a JSON object, found {}", source,
          path.empty() ? "the file" : "\"" + path + "\"", json_type(object));
  return object.fields();
}

}  // namespace

std::string read_file(const std::filesystem::path& path, size_t max_bytes) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    raise("{} is a folder, a file is needed", path.string());
  std::ifstream file(path, std::ios::binary);
  if (!file) raise("cannot read {}: {}", path.string(), std::strerror(errno));
  std::string bytes;
  constexpr size_t kChunk = size_t{1} << 20;
  while (file) {
    const size_t old_size = bytes.size();
    bytes.resize(old_size + kChunk);
    file.read(bytes.data() + old_size, static_cast<std::streamsize>(kChunk));
    bytes.resize(old_size + static_cast<size_t>(file.gcount()));
    if (bytes.size() > max_bytes)
      raise("{} is larger than the {} bytes allowed here", path.string(), max_bytes);
  }
  if (file.bad()) raise("cannot read {}: {}", path.string(), std::strerror(errno));
  return bytes;
}

Value parse_json(std::string_view text, const std::string& source) {
  // nlohmann's parser stops at a NUL byte and would ignore the text after it.
  if (text.find('\0') != std::string_view::npos)
    raise("{} is not valid JSON: it holds a NUL byte", source);
  ValueBuilder builder(source);
  (void)Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

Value read_json(const std::filesystem::path& path) {
  return parse_json(read_file(path), path.string());
}

bool is_json(std::string_view text) { return Json::accept(text.begin(), text.end()); }

std::string json_text(const Value& value) { return json_text(value, -1); }
std::string json_text(const Fields& fields) { return json_text(fields, -1); }

std::string json_text(const Value& value, int indent) { return Writer(indent).text_of(value); }
std::string json_text(const Fields& fields, int indent) { return Writer(indent).text_of(fields); }

std::string shown(const Value& value) { return json_text(value).substr(0, 100); }

const char* json_type(const Value& value) {
  return value.is_fields() ? "object"
         : value.is_list() ? "array"
         : value.is_text() ? "string"
         : value.is_bool() ? "boolean"
         : value.is_null() ? "null"
                           : "number";
}

JsonObject::JsonObject(const Value& object, std::string source, std::string path)
    : JsonObject(fields_in(object, source, path), source, path) {}

std::string JsonObject::where(const std::string& key) const {
  return fmt::format("{}: key \"{}\"", source_, path_.empty() ? key : path_ + "." + key);
}

bool JsonObject::has(const std::string& key) const {
  known_.insert(key);
  return !field_of(object_, key).is_null();
}

const Value& JsonObject::at(const std::string& key) {
  if (!has(key)) raise("{} is missing", where(key));
  return object_.at(key);
}

const Values& JsonObject::list(const std::string& key) {
  const Value& value = at(key);
  if (!value.is_list()) raise("{} must be a list, found {}", where(key), json_type(value));
  return value.list();
}

JsonObject JsonObject::object(const std::string& key) {
  return {at(key), source_, path_.empty() ? key : path_ + "." + key};
}

int64_t JsonObject::integer(const std::string& key) {
  const Value& value = at(key);
  if (value.is_int64()) return value.integer();
  if (value.is_integer()) raise("{} is too large: {}", where(key), shown(value));
  // JSON writers of other languages may print integers as 1e9 or 32.0.
  if (value.is_real()) {
    const double number = value.number();
    if (std::trunc(number) == number) {
      if (std::abs(number) >= 0x1p53) raise("{} is too large: {}", where(key), shown(value));
      return static_cast<int64_t>(number);
    }
  }
  raise("{} must be a whole number, found {}", where(key), shown(value));
}

int64_t JsonObject::integer(const std::string& key, int64_t fallback) {
  return has(key) ? integer(key) : fallback;
}

int64_t JsonObject::integer_in(const std::string& key, int64_t low, int64_t high) {
  const int64_t value = integer(key);
  if (value < low || value > high)
    raise("{} is {}, it must be from {} to {}", where(key), value, low, high);
  return value;
}

int64_t JsonObject::integer_in(const std::string& key, int64_t low, int64_t high,
                               int64_t fallback) {
  return has(key) ? integer_in(key, low, high) : fallback;
}

double JsonObject::number(const std::string& key) {
  const Value& value = at(key);
  if (!value.is_number()) raise("{} must be a number, found {}", where(key), shown(value));
  const double number = value.number();
  if (!std::isfinite(number)) raise("{} must be finite", where(key));
  return number;
}

double JsonObject::number(const std::string& key, double fallback) {
  return has(key) ? number(key) : fallback;
}

bool JsonObject::boolean(const std::string& key, bool fallback) {
  if (!has(key)) return fallback;
  const Value& value = at(key);
  if (!value.is_bool()) raise("{} must be true or false, found {}", where(key), shown(value));
  return value.boolean();
}

std::string JsonObject::string(const std::string& key) {
  const Value& value = at(key);
  if (!value.is_text()) raise("{} must be a string, found {}", where(key), shown(value));
  return value.text();
}

std::string JsonObject::string(const std::string& key, const std::string& fallback) {
  return has(key) ? string(key) : fallback;
}

std::vector<int64_t> JsonObject::integers(const std::string& key) {
  const Value& value = at(key);
  if (!value.is_list()) raise("{} must be a list of whole numbers", where(key));
  std::vector<int64_t> numbers;
  for (const Value& item : value.list()) {
    if (!item.is_integer())
      raise("{} must be a list of whole numbers, found {}", where(key), shown(item));
    if (!item.is_int64()) raise("{} holds a number that is too large: {}", where(key), shown(item));
    numbers.push_back(item.integer());
  }
  return numbers;
}

void JsonObject::allow_all() {
  for (const auto& [key, value] : object_) known_.insert(key);
}

void JsonObject::allow(std::initializer_list<const char*> keys) {
  for (const char* key : keys) known_.insert(key);
}

void JsonObject::reject_unknown() const {
  const std::vector<std::string> known(known_.begin(), known_.end());
  for (const auto& [name, value] : object_)
    if (!known_.contains(name))
      raise("{}: {}{}", source_, path_.empty() ? "" : "in \"" + path_ + "\", ",
            unknown_name("key", name, known));
}

}  // namespace reprise
