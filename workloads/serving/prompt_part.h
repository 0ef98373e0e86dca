// Prompts as runs of tokens that are named instead of kept: what two of them have in common is
// found without drawing it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reprise::workloads::serving {

// The first `tokens` of a text: of one that was read, or of made-up item `item`.
struct PromptPart {
  int64_t item = 0;
  int64_t tokens = 0;
  const int32_t* text = nullptr;  // null: made up; the item counts
};

// What made-up tokens are drawn from: see RandomItem.
struct TokenStream {
  uint64_t seed = 1;
  int64_t vocab = 1;
};

// The parts one after another.
std::vector<int32_t> tokens_of(std::span<const PromptPart> parts, const TokenStream& stream);
// Of all the tokens of the parts, one; -1: it is beyond the last.
int32_t token_at(std::span<const PromptPart> parts, int64_t place, const TokenStream& stream);
int64_t count_tokens(std::span<const PromptPart> parts);
// Leaves the first `tokens` of them.
void cut_to(std::vector<PromptPart>& parts, int64_t tokens);

struct PromptComparison {
  int64_t common = 0;      // leading tokens that are the same
  bool is_before = false;  // the first prompt in the order of token ids, a shorter one first
};
// O(parts + tokens that are the same under different names).
PromptComparison compare_prompts(std::span<const PromptPart> a, std::span<const PromptPart> b,
                                 const TokenStream& stream);

}  // namespace reprise::workloads::serving
