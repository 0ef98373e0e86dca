// A question as tokens: a schema of its documents, the prompt that imports them, and the choices
// that may follow the prompt.
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
  kPairs  // the first with the second, the third with the fourth, ...; a last odd one is alone
};
inline constexpr const char* kScaffoldSetNames[] = {"all", "pairs"};

struct ItemLayout {
  workloads::questions::Grouping grouping = workloads::questions::Grouping::kDocuments;
  ScaffoldSets scaffolds = ScaffoldSets::kAll;
  int64_t max_positions = 0;  // positions of the model; 0: no limit
};

struct ItemPrompt {
  // The schema's own text is the preamble, behind the tokens that the tokenizer puts before a text.
  pml::CompiledSchema schema;
  pml::CompiledPrompt prompt;                 // imports all modules; its text is question and cue
  std::vector<std::vector<int32_t>> choices;  // tokens that each choice adds after the question
  // True if the parts, tokenized separately, give the tokens of the whole text. If false, the
  // baseline, which computes the parts' tokens, has other tokens than a prompt of the whole text.
  bool is_as_whole = false;

  [[nodiscard]] int64_t tokens() const { return prompt.cached_tokens + prompt.new_tokens; }
  [[nodiscard]] int64_t longest_choice() const;
};

// Compiles an item by way of PML, as a user would write it. Throws Error naming the item for a text
// that PML cannot hold, for positions beyond the model's, and for choices that tokens_behind()
// refuses.
ItemPrompt compile_item(const workloads::questions::Item& item, const ItemLayout& layout,
                        const Tokenizer& tokenizer, const pml::TextEncoder& encoder);

// The tokens that `continuation` adds behind `text`: those of the joined text after the tokens of
// `text`. Throws Error if the joined tokens do not begin with those of `text`, or nothing is added.
std::vector<int32_t> tokens_behind(std::string_view text, std::string_view continuation,
                                   const pml::TextEncoder& encoder);

}  // namespace reprise::experiments
