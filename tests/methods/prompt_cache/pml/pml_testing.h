// Helpers for the tests of PML: encoders whose ids can be followed by hand, schemas and prompts
// made of strings, problems as a list, and layouts as lines.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/problems.h"
#include "methods/prompt_cache/pml/parse.h"
#include "methods/prompt_cache/pml/prompt.h"

namespace reprise::pml {

inline constexpr int32_t kUnknownWord = 100'000;

// An encoder that gives one token per word. Equal words have equal ids, and a number is its own id.
inline TextEncoder word_encoder() {
  auto known = std::make_shared<std::map<std::string, int32_t>>();
  TextEncoder encoder;
  encoder.placeholder = kUnknownWord;
  encoder.encode = [known](std::string_view text) {
    std::vector<int32_t> ids;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find_first_of(" \t\r\n", at), text.size());
      if (const std::string word(text.substr(at, end - at)); !word.empty()) {
        const bool is_number = word.find_first_not_of("0123456789") == word.npos;
        const auto next = static_cast<int32_t>(known->size()) + kUnknownWord + 1;
        ids.push_back(is_number ? std::stoi(word) : known->try_emplace(word, next).first->second);
      }
      at = end + 1;
    }
    return ids;
  };
  return encoder;
}

// An encoder that gives one token per byte, so that text_of() restores the encoded text.
inline TextEncoder byte_encoder() {
  return {.encode =
              [](std::string_view text) {
                std::vector<int32_t> ids;
                for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
                return ids;
              },
          .placeholder = '?',
          .bos = 256,
          .eos = 257,
          .opening = {256}};
}

inline std::string text_of(const std::vector<int32_t>& ids) {
  std::string text;
  for (const int32_t id : ids)
    text += id == 256 ? "<s>" : id == 257 ? "</s>" : std::string(1, static_cast<char>(id));
  return text;
}

inline Schema schema_of(const std::string& text, const Limits& limits = {}) {
  return parse_schema(Source("s.xml", text), limits);
}
inline Prompt prompt_of(const std::string& text) { return parse_prompt(Source("p.xml", text)); }

// A schema named s whose second line begins with `inside`.
inline std::string in_schema(const std::string& inside) {
  return "<schema name=\"s\">\n" + inside + "\n</schema>";
}

inline CompiledSchema compiled(const std::string& text, const TextEncoder& encoder,
                               const LayoutOptions& options = {}) {
  return compile_schema(schema_of(text), encoder, options);
}

// The problems that `action` throws, as sentences. Fails the test if it throws nothing.
template <typename Action>
std::vector<std::string> problems_of(Action&& action) {
  try {
    action();
  } catch (const ProblemsError& error) {
    return error.problems();
  } catch (const Error& error) {
    return {error.what()};
  }
  ADD_FAILURE() << "expected an Error";
  return {};
}

// Lines "name first end" of modules, texts and parameters.
inline std::vector<std::string> lines_of(const CompiledSchema& schema) {
  std::vector<std::string> lines;
  for (const CompiledModule& module : schema.modules) {
    lines.push_back(fmt::format("{} {} {}", module.path, module.first, module.end));
    for (const int32_t id : module.pieces) {
      const Piece& piece = schema.pieces[static_cast<size_t>(id)];
      lines.push_back(fmt::format("{} {} {}", schema.name_of(piece), piece.first, piece.end()));
    }
  }
  return lines;
}

// The texts of the schema's pieces, decoded from byte_encoder()'s tokens.
inline std::vector<std::string> texts_of(const CompiledSchema& schema) {
  std::vector<std::string> texts;
  for (const Piece& piece : schema.pieces)
    if (piece.parameter < 0) texts.push_back(text_of(piece.tokens));
  return texts;
}

using Lines = std::vector<std::string>;

}  // namespace reprise::pml
