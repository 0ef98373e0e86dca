// Settings in titles and notes: "{heads} heads of {head_dim}" becomes what the points have that are
// drawn, so that no title states the sizes of another scale.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace reprise::results {

// The text with each {name} replaced by value_of(name); "{{" and "}}" stand for braces. Throws
// Error beginning with `where` for a name that is not among `known`, with the nearest, and for a
// brace without its other.
std::string fill_placeholders(const std::string& text, const std::string& where,
                              std::span<const std::string> known,
                              const std::function<std::string(const std::string&)>& value_of);

// What may stand in braces where these are the axes: them, and what every experiment has.
std::vector<std::string> placeholder_names(std::vector<std::string> axes);

// What a reader calls a model: the last part of its path.
std::string short_model_name(std::string path);

// Different values as a reader says them: "8", "8 and 32", "8 to 64" (numbers), "a, b and c".
// Models by the last part of their path. "-" where there is none.
std::string values_text(const std::vector<Json>& values);

// The values of one setting in records: as resolved, where the record says that.
std::vector<Json> values_in(std::span<const Json* const> records, const std::string& setting);

}  // namespace reprise::results
