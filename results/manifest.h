// The manifest of a results folder, run.json: what was planned and which figures show it. Anybody
// may have written the file, so it is read strictly. experiments::manifest() writes these keys:
//   config_hash   hash of the settings
//   settings      {name, kind, scale, models: [{model, weights}], dtypes, methods: [{name,
//                 options}], axes: {axis: [values]}, ...}
//   identity      {code, machine, sources}; see results/identity.h
//   mixed         true if --mix let other identities measure some points
//   points        number of points in the sweep
//   caption       {title, paper, figure, note}
//   metrics       [name]: columns of the table, the most important first
//   left_out      [{method, reason}]
//   paper_numbers [name]: files of results/papers/
//   axis_units    {axis: unit}
//   plots         [{family, x, y, series, name, title, log_x, log_y, panels, rows, reference,
//                 stack}]
#pragma once

#include <filesystem>
#include <string_view>

#include "core/base/json.h"

namespace reprise::results {

// Upper bound on "points".
inline constexpr int64_t kMostPlannedPoints = 10000;

// True for at most 100 letters, digits, '_', '-' and '.', not beginning with '.' or '-'. Figures'
// files get these names, and a results folder may come from anywhere.
[[nodiscard]] bool is_figure_name(std::string_view name);

// The known families of figures.
[[nodiscard]] const std::vector<std::string>& figure_families();

// Returns `found` with all keys listed at the top of this file, each checked for type and bounds;
// keys that an older program did not write get defaults. Throws Error naming `source`, the key, the
// value found and those accepted.
[[nodiscard]] Json checked_manifest(const Json& found, const std::string& source);

}  // namespace reprise::results
