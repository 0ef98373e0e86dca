// Finds the word on a command line that no command knows.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace reprise::app {

// The message for an app whose parse() threw: `unknown option "--treads", did you mean "--threads"?
// Known: ...` for the first option that its command does not have, or for an unknown command; "" if
// all are known. Preferred over CLI11's own message, which only says that a mistyped required
// option is missing.
std::string unknown_option_text(const CLI::App& app);

}  // namespace reprise::app
