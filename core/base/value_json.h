// Values as JSON.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/json.h"
#include "core/base/value.h"

namespace reprise {

[[nodiscard]] Json json_of(const Value& value);
[[nodiscard]] Json json_of(const Fields& fields);
[[nodiscard]] Value value_of(const Json& json);
// The JSON must be an object (CHECK).
[[nodiscard]] Fields fields_of(const Json& json);

// parse_json() and read_json(), as values.
[[nodiscard]] Value parse_value(std::string_view text, const std::string& source);
[[nodiscard]] Value read_value(const std::filesystem::path& path);

// JSON in one line. Equal values have equal texts, except that 4 and 4.0 differ; so hashes of
// points and settings are taken of it.
[[nodiscard]] std::string json_text(const Value& value);
// JSON in lines, each level indented by as many spaces more.
[[nodiscard]] std::string json_text(const Value& value, int indent);

}  // namespace reprise
