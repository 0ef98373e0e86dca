// Parses and prints the lines of `reprise tokenize`.
#include "app/tokenize_command.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <iostream>
#include <memory>
#include <vector>

#include "app/input_lines.h"
#include "app/number_option.h"
#include "app/output.h"
#include "app/token_ids.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/visible.h"
#include "core/tokenizer/tokenizer.h"

namespace reprise::app {
namespace {

// Most bytes of a line. A million tokens have some 4 MB of text, and a tokenizer takes up to 235
// bytes of memory for each byte of text.
constexpr size_t kMostLineBytes = size_t{8} << 20;

// Accepts "1 2 3", "1,2,3" and "[1, 2, 3]".
std::vector<int32_t> ids_of_line(std::string_view line, const std::string& where,
                                 const Tokenizer& tokenizer) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
  while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
  if (line.size() >= 2 && line.front() == '[' && line.back() == ']')
    line = line.substr(1, line.size() - 2);
  std::vector<int32_t> ids = parse_token_ids(line, where);
  require_in_vocabulary(ids, tokenizer.vocab_size(), "the tokenizer", where);
  return ids;
}

// Escapes control characters, and doubles backslashes so that the escapes are unambiguous.
std::string as_one_line(std::string_view text) {
  std::string doubled;
  for (const char c : text) doubled += c == '\\' ? std::string(2, c) : std::string(1, c);
  return visible(doubled, /*kept=*/"");
}

std::string encode_line(const Tokenizer& tokenizer, const TokenizeOptions& options,
                        const std::string& line, const std::string& where) {
  std::string text = line;
  if (options.is_json) {
    const Value json = parse_json(line, where);
    if (!json.is_text()) raise("{}: expected a JSON string, found {}", where, json_type(json));
    text = json.text();
  }
  std::string out;
  for (const int32_t id : tokenizer.encode(text, {.add_special = options.is_special}))
    out += out.empty() ? std::to_string(id) : " " + std::to_string(id);
  return out;
}

std::string decode_line(const Tokenizer& tokenizer, const TokenizeOptions& options,
                        const std::string& line, const std::string& where) {
  const std::string text =
      tokenizer.decode(ids_of_line(line, where, tokenizer), {.skip_special = !options.is_special});
  return options.is_json ? json_text(text) : as_one_line(text);
}

}  // namespace

void run_tokenize(const TokenizeOptions& options, std::istream& in, std::ostream& out,
                  std::ostream& log) {
  const auto tokenizer = load_tokenizer(options.tokenizer);
  for (const std::string& note : tokenizer->notes()) log << "note: " << visible(note) << '\n';
  InputLines input(in, "input", kMostLineBytes);
  while (input.next()) {
    const std::string where = input.where();
    if (input.was_longer())
      raise("{}: more than {} bytes, the most that a line may have: break it up", where,
            kMostLineBytes);
    std::string line = input.text();
    // Files from Windows end lines in \r\n; in JSON and id lists the \r means nothing.
    if ((options.is_json || options.is_decoding) && line.ends_with('\r')) line.pop_back();
    try {
      out << (options.is_decoding ? decode_line : encode_line)(*tokenizer, options, line, where)
          << '\n';
      if (!out) throw OutputError(errno);
    } catch (const OutputError&) {
      throw;
    } catch (const Error& error) {
      out.flush();
      const std::string message = error.what();
      if (message.starts_with(where)) throw;
      raise("{}: {}", where, message);
    }
  }
  out.flush();
  if (!out) throw OutputError(errno);
}

void add_tokenize_command(CLI::App& app) {
  auto options = std::make_shared<TokenizeOptions>();
  CLI::App* command = app.add_subcommand(
      "tokenize", "Turn texts on standard input into token ids, or ids into texts, line by line");
  command
      ->add_option("--tokenizer", options->tokenizer,
                   "checkpoint folder, tokenizer.json or tokenizer.model")
      ->required()
      ->check(not_empty());
  command->add_flag("--special", options->is_special,
                    "add special tokens such as <s>; with --decode, show them");
  command->add_flag("--decode", options->is_decoding,
                    "lines are id lists: \"1 2 3\", \"1,2,3\" or \"[1,2,3]\"");
  command->add_flag("--json-lines", options->is_json,
                    "texts are JSON strings, one a line, so that they may hold line breaks");
  command->callback([options] {
    std::ios::sync_with_stdio(false);
    run_tokenize(*options, std::cin, std::cout, std::cerr);
  });
}

}  // namespace reprise::app
