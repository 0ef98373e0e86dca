// Finds the word on a command line that no command knows.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace reprise::app {

// Returns the message for an app whose parse() threw, such as `unknown option "--treads", did you
// mean "--threads"? Known: ...`. It is about the first option that its command does not have, or
// about an unknown command; "" if all options and commands are known. CLI11's own message would
// only say that a required option, which was mistyped, is missing.
std::string unknown_option_text(const CLI::App& app);

}  // namespace reprise::app
