#include "experiments/kinds/accuracy/item_prompt.h"

#include <algorithm>

#include "core/base/error.h"
#include "methods/prompt_cache/pml/compose.h"
#include "methods/prompt_cache/pml/parse.h"

namespace reprise::experiments {
namespace {

using workloads::questions::Item;

std::vector<std::vector<int32_t>> scaffold_sets(ScaffoldSets sets, size_t modules) {
  std::vector<std::vector<int32_t>> out;
  const auto count = static_cast<int32_t>(modules);
  if (sets == ScaffoldSets::kPairs) {
    for (int32_t first = 1; first < count; first += 2) out.push_back({first, first + 1});
  } else if (count > 0) {
    out.emplace_back();
    for (int32_t id = 0; id <= count; ++id) out.back().push_back(id);
  }
  return out;
}

// The imported tokens followed by the new tokens, which is their order in the text.
std::vector<int32_t> all_tokens(const ItemPrompt& item) {
  std::vector<int32_t> ids;
  const auto append = [&](const std::vector<int32_t>& more) {
    ids.insert(ids.end(), more.begin(), more.end());
  };
  for (const int32_t piece : item.prompt.pieces)
    append(item.schema.pieces[static_cast<size_t>(piece)].tokens);
  for (const pml::NewRun& run : item.prompt.new_runs) append(run.tokens);
  return ids;
}

ItemPrompt compile(const Item& item, const ItemLayout& layout, const Tokenizer& tokenizer,
                   const pml::TextEncoder& encoder) {
  pml::TextSchema texts{.name = "item",
                        .own_text = item.preamble,
                        .modules = workloads::questions::modules_of(item, layout.grouping)};
  texts.scaffolds = scaffold_sets(layout.scaffolds, texts.modules.size());
  ItemPrompt out;
  out.schema =
      pml::compile_schema(pml::parse_schema(pml::Source("its schema", pml::schema_text(texts))),
                          encoder, {.max_positions = layout.max_positions});
  const std::string question = item.question + item.cue;
  out.prompt = pml::compile_prompt(
      pml::parse_prompt(pml::Source("its prompt", pml::prompt_text(texts, question))), out.schema,
      encoder, layout.max_positions);
  for (const std::string& choice : item.choices)
    out.choices.push_back(tokens_behind(question, item.lead + choice, encoder));
  out.is_as_whole = all_tokens(out) == tokenizer.encode(item.text());
  return out;
}

}  // namespace

int64_t ItemPrompt::longest_choice() const {
  size_t longest = 0;
  for (const std::vector<int32_t>& choice : choices) longest = std::max(longest, choice.size());
  return static_cast<int64_t>(longest);
}

ItemPrompt compile_item(const Item& item, const ItemLayout& layout, const Tokenizer& tokenizer,
                        const pml::TextEncoder& encoder) {
  try {
    return compile(item, layout, tokenizer, encoder);
  } catch (const Error& error) {
    raise("question {}: {}", item.id, error.what());
  }
}

std::vector<int32_t> tokens_behind(std::string_view text, std::string_view continuation,
                                   const pml::TextEncoder& encoder) {
  const std::vector<int32_t> before = encoder.encode(text);
  std::vector<int32_t> both = encoder.encode(std::string(text) + std::string(continuation));
  const bool goes_on =
      both.size() > before.size() && std::equal(before.begin(), before.end(), both.begin());
  if (!goes_on)
    raise(
        "\"{}\" changes the tokens of what it stands behind, so that its likelihood means nothing; "
        "end the question elsewhere",
        continuation);
  both.erase(both.begin(), both.begin() + static_cast<std::ptrdiff_t>(before.size()));
  return both;
}

}  // namespace reprise::experiments
