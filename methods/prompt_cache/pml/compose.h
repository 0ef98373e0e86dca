// Texts written as PML that gives back exactly these texts, whatever stands in them: data that was
// not written as PML becomes modules this way.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::pml {

// A schema of texts that follow each other without anything between. Each becomes one run of
// tokens: those that the tokenizer makes of it alone.
struct TextSchema {
  std::string name = "texts";  // as a module's
  // Whether the schema begins with what the tokenizer puts before a text: <s>, or nothing. It needs
  // the chat template "plain".
  bool has_opening = true;
  std::string own_text;              // before the modules, in every prompt; may be empty
  std::vector<std::string> modules;  // none empty; the i-th, from 1, is named "d1", "d2", ...
  // Sets of at least two that are encoded together too, by their numbers in CompiledSchema: 0 is
  // the schema's own text, i the i-th module.
  std::vector<std::vector<int32_t>> scaffolds;
};

// Texts stand in CDATA, where white space counts; carriage returns, which XML reads as line feeds
// there, as "&#13;" between two of them. The chat template "falcon" of the released code
// (Rules::kAsCoded) still merges double line feeds; no other changes them.
// Throws Error for a text that XML cannot carry (verbatim()), an empty module, and for what is no
// name or no set of these.
[[nodiscard]] std::string schema_text(const TextSchema& schema);
// A prompt that imports all modules of the schema, with `text` behind them.
[[nodiscard]] std::string prompt_text(const TextSchema& schema, std::string_view text);

// One text as it stands in an element. Throws Error naming `what`, the character and its place for
// what no XML file can hold: control characters but tab, line feed and carriage return; U+FFFE and
// U+FFFF; bytes that are not UTF-8.
[[nodiscard]] std::string verbatim(std::string_view text, std::string_view what);

}  // namespace reprise::pml
