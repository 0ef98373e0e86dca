// Overrides of an experiment file: the keys of a scale in the file, and --set a.b=c.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"

namespace reprise::experiments {

// Returns "smoke", "desk", "paper".
const std::vector<std::string>& scale_names();

// Which models and data sets an experiment reads. kNamed: those that its scale names. kStandIn: the
// replacements in the scale's "stand_in", for machines that lack the named ones.
enum class Inputs { kNamed, kStandIn };

// Returns the file without "scales" and with the overrides of `scale` applied: objects merge key by
// key, null removes a key, any other value replaces the old value. kStandIn then applies the
// scale's "stand_in" in the same way. Throws Error if `scale` or a scale in the file is unknown,
// and for a "stand_in" without a "note", because figures must say what was replaced.
Value with_scale(const Value& file, const std::string& scale, const std::string& source,
                 Inputs inputs = Inputs::kNamed);

// True if the scale has a "stand_in". The file must have passed with_scale().
bool has_stand_in(const Value& file, const std::string& scale);

// Applies "a.b=value" to an experiment that with_scale() made of `file`. The value is JSON if it
// parses as JSON, else text; for a list, a JSON list or entries separated by commas. null removes
// the key. A number in the path is an index into a list. Throws Error for text without '=', an
// empty path element or entry, or a path through something other than an object or list, and for
// null if neither the experiment nor `file`, in any scale, has the key.
void apply_set(Value& experiment, const std::string& assignment, const Value& file);

}  // namespace reprise::experiments
