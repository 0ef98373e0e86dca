#include "core/base/value_json.h"

#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace reprise {

Json json_of(const Value& value) {
  return value.visit([](const auto& held) -> Json {
    using T = std::decay_t<decltype(held)>;
    if constexpr (std::is_same_v<T, std::monostate>) {
      return nullptr;
    } else if constexpr (std::is_same_v<T, Values>) {
      Json list = Json::array();
      for (const Value& one : held) list.push_back(json_of(one));
      return list;
    } else if constexpr (std::is_same_v<T, Fields>) {
      return json_of(held);
    } else {
      return held;
    }
  });
}

Json json_of(const Fields& fields) {
  Json object = Json::object();
  for (const auto& [name, value] : fields) object[name] = json_of(value);
  return object;
}

Value value_of(const Json& json) {
  switch (json.type()) {
    case Json::value_t::boolean:
      return json.get<bool>();
    case Json::value_t::number_integer:
      return json.get<int64_t>();
    case Json::value_t::number_unsigned:
      return json.get<uint64_t>();
    case Json::value_t::number_float:
      return json.get<double>();
    case Json::value_t::string:
      return json.get_ref<const std::string&>();
    case Json::value_t::array: {
      Values list;
      for (const Json& one : json) list.push_back(value_of(one));
      return list;
    }
    case Json::value_t::object:
      return fields_of(json);
    default:
      return nullptr;
  }
}

Fields fields_of(const Json& json) {
  REPRISE_CHECK(json.is_object(), "{} is no object", json.dump());
  Fields fields;
  for (const auto& [name, value] : json.items()) fields.emplace(name, value_of(value));
  return fields;
}

Value parse_value(std::string_view text, const std::string& source) {
  return value_of(parse_json(text, source));
}
Value read_value(const std::filesystem::path& path) { return value_of(read_json(path)); }

std::string json_text(const Value& value) { return json_of(value).dump(); }
std::string json_text(const Value& value, int indent) { return json_of(value).dump(indent); }

}  // namespace reprise
