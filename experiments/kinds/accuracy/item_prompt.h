// A question as tokens: a schema with the question's documents, the prompt that imports the
// documents, and the choices that may follow the prompt.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tokenizer/tokenizer.h"
#include "methods/prompt_cache/pml/encoder.h"
#include "methods/prompt_cache/pml/prompt.h"
#include "workloads/questions/item.h"

namespace reprise::experiments {

// The modules that are also encoded together, for modes that use scaffolds.
enum class ScaffoldSets : uint8_t {
  kAll,   // one set: all modules and the text before them (module 0)
  kPairs  // the first module with the second, the third with the fourth, ...; an odd last alone
};
inline constexpr const char* kScaffoldSetNames[] = {"all", "pairs"};

struct ItemLayout {
  workloads::questions::Grouping grouping = workloads::questions::Grouping::kDocuments;
  ScaffoldSets scaffolds = ScaffoldSets::kAll;
  int64_t max_positions = 0;  // positions of the model; 0: no limit
};

struct ItemPrompt {
  // The schema's own text is the preamble. It begins with the special tokens that the tokenizer
  // puts before any text.
  pml::CompiledSchema schema;
  pml::CompiledPrompt prompt;                 // imports all modules; its text is question and cue
  std::vector<std::vector<int32_t>> choices;  // tokens that each choice adds after the question
  // True if the texts of schema and prompt, tokenized separately, give the same tokens as the whole
  // text tokenized at once. All modes, the baseline too, use the separately tokenized texts.
  bool is_as_whole = false;

  [[nodiscard]] int64_t tokens() const { return prompt.cached_tokens + prompt.new_tokens; }
  [[nodiscard]] int64_t longest_choice() const;
};

// Writes an item as PML, as a user would, and compiles it. Throws Error naming the item for a text
// that PML cannot hold, for positions beyond layout.max_positions, and for choices that
// tokens_behind() refuses.
ItemPrompt compile_item(const workloads::questions::Item& item, const ItemLayout& layout,
                        const Tokenizer& tokenizer, const pml::TextEncoder& encoder);

// Tokenizes `text` followed by `continuation` and returns the tokens behind the tokens of `text`.
// Throws Error if the joined text's tokens do not begin with the tokens of `text`, or if no tokens
// follow them.
std::vector<int32_t> tokens_behind(std::string_view text, std::string_view continuation,
                                   const pml::TextEncoder& encoder);

}  // namespace reprise::experiments
