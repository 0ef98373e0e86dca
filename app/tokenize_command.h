// `reprise tokenize`: turns texts into ids and ids into texts, line by line.
#pragma once

#include <iosfwd>
#include <string>

namespace CLI {
class App;
}

namespace reprise::app {

struct TokenizeOptions {
  std::string tokenizer = {};  // a folder or a file
  bool is_special = false;     // encoding adds special tokens, decoding shows them
  bool is_decoding = false;    // input lines are id lists
  bool is_json = false;        // texts are JSON strings, one per line
};

// Reads lines until the end of `in`, writes one line to `out` for each, and writes notes about the
// tokenizer to `log`. Errors name the line. Unless options.is_json, backslashes, line breaks and
// other control characters of a decoded text are written as \\ \n \r \t \xHH, so that the text
// stays on one line.
void run_tokenize(const TokenizeOptions& options, std::istream& in, std::ostream& out,
                  std::ostream& log);

// Adds the subcommand, on standard input and output. Its errors are thrown from app.parse().
void add_tokenize_command(CLI::App& app);

}  // namespace reprise::app
