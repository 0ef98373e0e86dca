// Parses and prints the lines of `reprise tokenize`.
#include "app/tokenize_command.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/tokenizer/tokenizer.h"

namespace reprise::app {
namespace {

// "1 2 3", "1,2,3" or "[1, 2, 3]".
std::vector<int32_t> parse_ids(std::string_view line, const std::string& where, int32_t end_id) {
  const auto trim = [&] {
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
  };
  trim();
  if (line.size() >= 2 && line.front() == '[' && line.back() == ']') {
    line = line.substr(1, line.size() - 2);
    trim();
  }
  std::vector<int32_t> ids;
  while (!line.empty()) {
    int32_t id = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), id);
    if (error != std::errc() || id < 0 || id >= end_id)
      raise("{}: expected a token id from 0 to {}, found \"{}\"", where, end_id - 1,
            line.substr(0, 40));
    ids.push_back(id);
    line.remove_prefix(static_cast<size_t>(end - line.data()));
    const size_t before = line.size();
    trim();
    if (line.empty()) break;
    if (line.front() == ',') {
      line.remove_prefix(1);
      trim();
      if (line.empty()) raise("{}: the list ends with a comma", where);
    } else if (line.size() == before) {
      raise("{}: expected a space or a comma between ids, found \"{}\"", where, line.substr(0, 40));
    }
  }
  return ids;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::string encode_line(const Tokenizer& tokenizer, const TokenizeOptions& options,
                        const std::string& line, const std::string& where) {
  std::string text = line;
  if (options.is_json) {
    const Json json = parse_json(line, where);
    if (!json.is_string()) raise("{}: expected a JSON string, found {}", where, json.type_name());
    text = json.get<std::string>();
  }
  std::string out;
  for (const int32_t id : tokenizer.encode(text, {.add_special = options.is_special}))
    out += out.empty() ? std::to_string(id) : " " + std::to_string(id);
  return out;
}

std::string decode_line(const Tokenizer& tokenizer, const TokenizeOptions& options,
                        const std::string& line, const std::string& where) {
  const std::string text = tokenizer.decode(parse_ids(line, where, tokenizer.vocab_size()),
                                            {.skip_special = !options.is_special});
  return options.is_json ? Json(text).dump() : escaped(text);
}

}  // namespace

void run_tokenize(const TokenizeOptions& options, std::istream& in, std::ostream& out,
                  std::ostream& log) {
  const auto tokenizer = load_tokenizer(options.tokenizer);
  for (const std::string& note : tokenizer->notes()) log << "note: " << note << '\n';
  std::string line;
  for (int64_t number = 1; std::getline(in, line); ++number) {
    // Files from elsewhere end lines in \r\n; in JSON and id lists the \r means nothing.
    if ((options.is_json || options.is_decoding) && line.ends_with('\r')) line.pop_back();
    const std::string where = fmt::format("input line {}", number);
    try {
      out << (options.is_decoding ? decode_line : encode_line)(*tokenizer, options, line, where)
          << '\n';
    } catch (const Error& error) {
      out.flush();
      const std::string message = error.what();
      if (message.starts_with(where)) throw;
      raise("{}: {}", where, message);
    }
  }
  out.flush();
  if (!out) raise("cannot write the output (line buffer closed or disk full)");
}

void add_tokenize_command(CLI::App& app) {
  auto options = std::make_shared<TokenizeOptions>();
  CLI::App* command = app.add_subcommand(
      "tokenize", "Turn texts on standard input into token ids, or ids into texts, line by line");
  command
      ->add_option("--tokenizer", options->tokenizer,
                   "checkpoint folder, tokenizer.json or tokenizer.model")
      ->required();
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
