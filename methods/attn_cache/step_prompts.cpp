#include "methods/attn_cache/step_prompts.h"

#include <algorithm>
#include <utility>

#include "core/kernels/attention_map/attention_map.h"

namespace reprise::attn_cache {
namespace {

bool is_continued(const kv::AttentionPlan& plan, int32_t row) {
  const auto r = static_cast<size_t>(row);
  const auto items = [&](size_t i) {
    return std::pair(plan.row_items.begin() + plan.row_begin[i],
                     plan.row_items.begin() + plan.row_begin[i + 1]);
  };
  const auto [first, end] = items(r);
  const auto [first_before, end_before] = items(r - 1);
  return plan.row_positions[r] == plan.row_positions[r - 1] + 1 &&
         std::equal(first, end, first_before, end_before);
}

// A chunk of a prompt is not whole. Already at the first chunk, row_lengths has the length of the
// whole sequence, so it differs from the chunk's tokens.
bool is_whole(const kv::AttentionPlan& plan, const StepPrompt& prompt) {
  const auto first = static_cast<size_t>(prompt.first_row);
  return plan.row_positions[first] == 0 && plan.row_lengths[first] == prompt.tokens &&
         kernels::keys_of(plan, prompt.first_row) == prompt.tokens;
}

}  // namespace

std::vector<StepPrompt> prompts_of(const kv::AttentionPlan& plan) {
  std::vector<StepPrompt> prompts;
  for (int32_t row = 0; row < plan.rows(); ++row) {
    if (prompts.empty() || !is_continued(plan, row)) prompts.push_back({.first_row = row});
    ++prompts.back().tokens;
  }
  for (StepPrompt& prompt : prompts) prompt.is_whole = is_whole(plan, prompt);
  return prompts;
}

TensorView rows_of(const TensorView& hidden, const StepPrompt& prompt) {
  const int64_t cols = hidden.shape[1];
  return {static_cast<char*>(hidden.data) +
              static_cast<size_t>(prompt.first_row * cols) * size_of(hidden.dtype),
          hidden.dtype,
          {prompt.tokens, cols},
          hidden.device};
}

}  // namespace reprise::attn_cache
