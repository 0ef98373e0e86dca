// How one experiment file becomes several: the overrides of a scale, and of --set a.b=c.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"

namespace reprise::experiments {

// "smoke", "desk", "paper".
const std::vector<std::string>& scale_names();

// The file without its "scales", with the overrides of `scale` laid over it: objects merge key by
// key, everything else is replaced. Throws Error for an unknown scale, here or in the file.
Json with_scale(const Json& file, const std::string& scale, const std::string& source);

// Lays "a.b=value" over `experiment`. The value is JSON where it reads as JSON, else text. For a
// list it is a list as JSON, or its entries with commas between them, each JSON or text: a single
// one makes a list of one. A number as a path element is an index into a list. Throws Error for
// text without '=', an empty path element, an empty entry, or a path through something that is no
// object or list.
void apply_set(Json& experiment, const std::string& assignment);

}  // namespace reprise::experiments
