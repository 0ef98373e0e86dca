// Fills settings into titles and notes: "{heads} heads of {head_dim}" shows the values of the drawn
// points, so that a title never states the sizes of another scale.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "results/record.h"

namespace reprise::results {

// Returns the text with each {name} replaced by value_of(name); "{{" and "}}" are braces. Throws
// Error beginning with `where` for a name that is not in `known`, with the nearest, and for an
// unmatched brace.
std::string fill_placeholders(const std::string& text, const std::string& where,
                              std::span<const std::string> known,
                              const std::function<std::string(const std::string&)>& value_of);

// Returns the names allowed in braces: these axes and the settings that every experiment has.
std::vector<std::string> placeholder_names(std::vector<std::string> axes);

// Returns the last part of a model's path, the name that readers know.
std::string short_model_name(const std::string& path);

// Returns a text that names distinct values: "8", "8 and 32", "8 to 64" for more numbers, "a, b and
// c" for words. Models are named by the last part of their path, and by as many as distinguish them
// if several have the same last part. "-" if there is no value.
std::string values_text(const Values& values);

// Returns the value of one setting in each record that has it: the resolved value or, without one,
// the requested value.
Values values_in(std::span<const Record* const> records, const std::string& setting);

}  // namespace reprise::results
