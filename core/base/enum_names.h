// Lists the names of an enum's values, and finds the value that has a given name. Options with
// named values use both.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace reprise {

// Returns name_of(value) for each value in the array `all`.
template <typename All>
std::vector<std::string> names_of_all(const All& all) {
  std::vector<std::string> names;
  for (const auto value : all) names.emplace_back(name_of(value));
  return names;
}

// Returns the value in `all` with this name. For any other name throws Error `unknown WHAT "NAME"`,
// which offers the nearest name.
template <typename All>
auto parse_name(const char* what, std::string_view name, const All& all) {
  for (const auto value : all)
    if (name == name_of(value)) return value;
  raise("{}", unknown_name(what, name, names_of_all(all)));
}

}  // namespace reprise
