#include "core/base/json.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace reprise {
namespace {

constexpr int kMaxDepth = 200;  // nlohmann's parser is iterative, its destructor and dump are not

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
  return bytes;
}

Json parse_json(std::string_view text, const std::string& source) {
  // nlohmann's parser ends at a NUL byte and would ignore what follows.
  if (text.find('\0') != std::string_view::npos)
    raise("{} is not valid JSON: it holds a NUL byte", source);
  std::vector<std::set<std::string>> keys;  // one set for each object that is open
  const auto callback = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > kMaxDepth) raise("{}: JSON is nested deeper than {} levels", source, kMaxDepth);
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second)
      raise("{}: key \"{}\" appears twice in one object", source, value.get<std::string>());
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), callback);
  } catch (const Json::exception& error) {
    raise("{} is not valid JSON: {}", source, error.what());
  }
}

Json read_json(const std::filesystem::path& path) {
  return parse_json(read_file(path), path.string());
}

JsonObject::JsonObject(const Json& object, std::string source, std::string path)
    : object_(object), source_(std::move(source)), path_(std::move(path)) {
  if (!object.is_object())
    raise("{}: {} must be a JSON object, found {}", source_,
          path_.empty() ? "the file" : "\"" + path_ + "\"", object.type_name());
}

std::string JsonObject::where(const std::string& key) const {
  return fmt::format("{}: key \"{}\"", source_, path_.empty() ? key : path_ + "." + key);
}

bool JsonObject::has(const std::string& key) const {
  known_.insert(key);
  const auto found = object_.find(key);
  return found != object_.end() && !found->is_null();
}

const Json& JsonObject::at(const std::string& key) {
  if (!has(key)) raise("{} is missing", where(key));
  return object_[key];
}

JsonObject JsonObject::object(const std::string& key) {
  return {at(key), source_, path_.empty() ? key : path_ + "." + key};
}

int64_t JsonObject::integer(const std::string& key) {
  const Json& value = at(key);
  if (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
    raise("{} is too large: {}", where(key), value.dump());
  if (value.is_number_integer()) return value.get<int64_t>();
  // JSON writers of other languages print whole numbers as 1e9 or 32.0.
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (std::trunc(number) == number && std::abs(number) < 0x1p53)
      return static_cast<int64_t>(number);
  }
  raise("{} must be a whole number, found {}", where(key), value.dump().substr(0, 100));
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
  const Json& value = at(key);
  if (!value.is_number())
    raise("{} must be a number, found {}", where(key), value.dump().substr(0, 100));
  const double number = value.get<double>();
  if (!std::isfinite(number)) raise("{} must be finite", where(key));
  return number;
}

double JsonObject::number(const std::string& key, double fallback) {
  return has(key) ? number(key) : fallback;
}

bool JsonObject::boolean(const std::string& key, bool fallback) {
  if (!has(key)) return fallback;
  const Json& value = at(key);
  if (!value.is_boolean())
    raise("{} must be true or false, found {}", where(key), value.dump().substr(0, 100));
  return value.get<bool>();
}

std::string JsonObject::string(const std::string& key) {
  const Json& value = at(key);
  if (!value.is_string())
    raise("{} must be a string, found {}", where(key), value.dump().substr(0, 100));
  return value.get<std::string>();
}

std::string JsonObject::string(const std::string& key, const std::string& fallback) {
  return has(key) ? string(key) : fallback;
}

std::vector<int64_t> JsonObject::integers(const std::string& key) {
  const Json& value = at(key);
  if (!value.is_array()) raise("{} must be a list of whole numbers", where(key));
  std::vector<int64_t> numbers;
  for (const Json& item : value) {
    if (!item.is_number_integer())
      raise("{} must be a list of whole numbers, found {}", where(key), item.dump());
    if (item.is_number_unsigned() && item.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
      raise("{} holds a number that is too large: {}", where(key), item.dump());
    numbers.push_back(item.get<int64_t>());
  }
  return numbers;
}

void JsonObject::allow(std::initializer_list<const char*> keys) {
  for (const char* key : keys) known_.insert(key);
}

void JsonObject::reject_unknown() const {
  const std::vector<std::string> known(known_.begin(), known_.end());
  for (const auto& item : object_.items())
    if (!known_.contains(item.key()))
      raise("{}: {}{}", source_, path_.empty() ? "" : "in \"" + path_ + "\", ",
            unknown_name("key", item.key(), known));
}

}  // namespace reprise
