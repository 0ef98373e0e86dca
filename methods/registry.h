// The methods this program knows, by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/reuse/reuse_method.h"

namespace reprise::methods {

// In the order `reprise list` shows them.
std::vector<reuse::MethodInfo> known_methods();

// A method with its options, a JSON object (or null for the defaults). Throws Error for an unknown
// name or option, with the nearest known one.
std::unique_ptr<reuse::ReuseMethod> make_method(const std::string& name, const Json& options);

}  // namespace reprise::methods
