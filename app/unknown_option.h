// Finds the word on a command line that no command knows.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace reprise::app {

// Returns the message for an app whose parse() threw, such as `run: unknown option "--treads", did
// you mean "--threads"? Known: ...`. The message names the first option or command that is unknown;
// "" if all are known. If a required option was mistyped, CLI11's own message would only say that
// the option is missing.
std::string unknown_option_text(const CLI::App& app);

}  // namespace reprise::app
