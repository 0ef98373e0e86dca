// Writes arbitrary texts as PML that parses back to exactly these texts. Data that was not written
// as PML becomes modules this way.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::pml {

// A schema of texts with no gaps between them. Each text is tokenized by itself and becomes one run
// of tokens.
struct TextSchema {
  std::string name = "texts";  // letters, digits, "_", "-" and "."
  // The schema begins with <system/>, which the chat template "plain" turns into the tokens that
  // the tokenizer puts before a text (<s>, or none). Needs that template.
  bool has_opening = true;
  std::string own_text;              // before the modules, in every prompt; may be empty
  std::vector<std::string> modules;  // none empty; the i-th, from 1, is named "d1", "d2", ...
  // Sets of two or more modules that are also encoded together. The numbers are the indices in
  // CompiledSchema::modules: 0 is the schema's own text, i the i-th module.
  std::vector<std::vector<int32_t>> scaffolds;
};

// The schema as PML, its texts written by verbatim(). They are read back unchanged, except by the
// chat template "falcon" under Rules::kAsCoded, which merges double line feeds. Throws Error
// for a text that verbatim() refuses, an empty module, and an invalid name or scaffold.
[[nodiscard]] std::string schema_text(const TextSchema& schema);
// A prompt that imports all modules of the schema and ends with `text`. Throws as schema_text().
[[nodiscard]] std::string prompt_text(const TextSchema& schema, std::string_view text);

// Returns a text as the content of an element: CDATA sections, which keep white space, and "&#13;"
// between two sections for each carriage return, which XML would read as a line feed. XML cannot
// hold bytes that are not UTF-8, U+FFFE, U+FFFF, and control characters other than tab, line feed
// and carriage return: for these, throws Error naming `what`, the character and its place.
[[nodiscard]] std::string verbatim(std::string_view text, std::string_view what);

}  // namespace reprise::pml
