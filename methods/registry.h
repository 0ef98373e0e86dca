// The methods this program knows, by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/reuse/options.h"
#include "core/reuse/resources.h"
#include "core/reuse/reuse_method.h"

namespace reprise::methods {

// In the order `reprise list` shows them.
std::vector<reuse::MethodInfo> known_methods();

// The functions below throw Error for an unknown method, with the nearest known one.

// What can be chosen about a method.
reuse::OptionList options_of(const std::string& name);

// Every option of a method as it turns out where `given` is given. Throws Error naming the option,
// what was found and what is accepted; for an unknown option, the nearest.
Json resolve_options(const std::string& name, const JsonObject& given);

// A method with its options, a JSON object (or null for the defaults), and what it may use. Throws
// Error as resolve_options().
std::unique_ptr<reuse::ReuseMethod> make_method(const std::string& name, const Json& options,
                                                const reuse::MethodResources& resources = {});

}  // namespace reprise::methods
