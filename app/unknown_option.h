// What is on a command line and no command knows.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace reprise::app {

// Of an app whose parse() threw: `unknown option "--treads", did you mean "--threads"? Known: ...`
// for the first option that its command does not have, or the command that is none of those within
// it; "" where all is known. A required option that was mistyped is missing too; this is the
// message that helps.
std::string unknown_option_text(const CLI::App& app);

}  // namespace reprise::app
