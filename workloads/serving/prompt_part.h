// Prompts as parts that are named instead of stored, so that common prefixes are found without
// drawing tokens.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reprise::workloads::serving {

// The first `tokens` tokens of a text that was read, or of the made-up item `item`.
struct PromptPart {
  int64_t item = 0;
  int64_t tokens = 0;
  const int32_t* text = nullptr;  // null: made up, see `item`
};

// The stream of made-up tokens; see RandomItem.
struct TokenStream {
  uint64_t seed = 1;
  int64_t vocab = 1;
};

// Returns the tokens of all parts in order.
std::vector<int32_t> tokens_of(std::span<const PromptPart> parts, const TokenStream& stream);
// Returns the token at `place` in the concatenated parts; -1 after their end.
int32_t token_at(std::span<const PromptPart> parts, int64_t place, const TokenStream& stream);
int64_t count_tokens(std::span<const PromptPart> parts);
// Keeps the first `tokens` tokens of the parts.
void cut_to(std::vector<PromptPart>& parts, int64_t tokens);

struct PromptComparison {
  int64_t common = 0;  // number of equal leading tokens
  // True if `a` comes before `b` in the order of token ids; a prefix comes before a longer prompt.
  bool is_before = false;
};
// Compares two prompts. Parts with the same name at the same place are skipped without drawing
// their tokens. Takes O(parts + equal tokens in parts that are not skipped).
PromptComparison compare_prompts(std::span<const PromptPart> a, std::span<const PromptPart> b,
                                 const TokenStream& stream);

}  // namespace reprise::workloads::serving
