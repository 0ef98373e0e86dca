// Lets tests write and inspect JSON, and converts values to JSON and back. A function that takes a
// Value or Fields can be called with JSON directly.
#pragma once

#include <nlohmann/json.hpp>

#include "core/base/json.h"

namespace reprise {

using Json = nlohmann::json;

inline Json json_of(const Value& value) {
  return value.visit([](const auto& held) -> Json {
    using T = std::decay_t<decltype(held)>;
    if constexpr (std::is_same_v<T, std::monostate>) {
      return nullptr;
    } else if constexpr (std::is_same_v<T, Values>) {
      Json list = Json::array();
      for (const Value& one : held) list.push_back(json_of(one));
      return list;
    } else if constexpr (std::is_same_v<T, Fields>) {
      Json object = Json::object();
      for (const auto& [name, one] : held) object[name] = json_of(one);
      return object;
    } else {
      return held;
    }
  });
}

inline Value value_of(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned()) return json.get<uint64_t>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_null() || json.is_discarded()) return nullptr;
  Fields fields;
  if (json.is_object())
    for (const auto& [name, one] : json.items()) fields[name] = value_of(one);
  Values list;
  if (json.is_array())
    for (const Json& one : json) list.push_back(value_of(one));
  return json.is_array() ? Value(list) : Value(fields);
}
inline Fields fields_of(const Json& json) { return value_of(json).fields(); }

// nlohmann finds these two by their names.
inline void to_json(Json& json, const Value& value) { json = json_of(value); }
inline void from_json(const Json& json, Value& value) { value = value_of(json); }

}  // namespace reprise
