// Overrides by which one experiment file describes several: those of a scale, and --set a.b=c.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"

namespace reprise::experiments {

// Returns "smoke", "desk", "paper".
const std::vector<std::string>& scale_names();

// Returns the file without "scales" and with the overrides of `scale` applied: objects merge key by
// key, everything else is replaced. Throws Error for an unknown scale, here or in the file.
Value with_scale(const Value& file, const std::string& scale, const std::string& source);

// Applies "a.b=value". The value is JSON if it parses as JSON, else text; for a list, a JSON list
// or entries separated by commas. A number in the path is an index into a list. Throws Error for
// text without '=', an empty path element or entry, or a path through something other than an
// object or list.
void apply_set(Value& experiment, const std::string& assignment);

}  // namespace reprise::experiments
