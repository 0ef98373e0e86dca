// The manifest of a results folder, run.json: what was planned, and which figures show it. A file
// that anybody may have written, so it is read strictly.
#pragma once

#include <filesystem>
#include <string_view>

#include "core/base/json.h"

namespace reprise::results {

// What a manifest holds, as experiments::manifest() writes it:
//   config_hash   hash of the settings
//   settings      {name, kind, scale, models: [{model, weights}], dtypes, methods: [{name,
//   options}],
//                  axes: {axis: [values]}, ...}
//   identity      {code, machine, sources}: whose results these are; see results/identity.h
//   mixed         whether --mix let other identities measure some of the points
//   points        how many the sweep has
//   caption       {title, paper, figure, note}
//   metrics       [name]: those of the table, the most telling first
//   left_out      [{method, reason}]
//   paper_numbers [name]: files of results/papers/
//   axis_units    {axis: unit}
//   plots         [{family, x, y, series, name, title, log_x, log_y, panels, rows, reference,
//   stack}]
inline constexpr int64_t kMostPlannedPoints = 10000;

// Letters, digits, '_', '-' and '.', at most 100, and no '.' or '-' at the beginning: a figure's
// files are called so, and a folder of results may come from anywhere.
[[nodiscard]] bool is_figure_name(std::string_view name);

// The families of figures.
[[nodiscard]] const std::vector<std::string>& figure_families();

// `found` with all the keys above, each of its type and within its bounds; what an older program
// did not write yet has its default. Throws Error naming `source`, the key, what was found and what
// is accepted.
[[nodiscard]] Json checked_manifest(const Json& found, const std::string& source);

}  // namespace reprise::results
