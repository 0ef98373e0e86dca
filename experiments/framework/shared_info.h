// Axes and metrics that several kinds have in common.
#pragma once

#include "experiments/framework/kind.h"

namespace reprise::experiments {

inline constexpr int64_t kMostTokens = int64_t{1} << 20;     // upper bound for a prompt
inline constexpr int64_t kMostNewTokens = int64_t{1} << 16;  // upper bound for a sequence
inline constexpr int64_t kMostSequences = int64_t{1} << 12;  // upper bound for a batch

// The axes of a group's prompts. The axes of a kind derive from this struct, and visit its fields
// in an order of their own.
struct PromptAxes {
  int64_t prompt_tokens = 128;
  int64_t shared_tokens = 0;  // first tokens, which all prompts have in common

  void visit_prompt_tokens(AxisVisitor& visitor) {
    visitor.integer({"prompt_tokens", "tokens", "length of a prompt"}, {1, kMostTokens},
                    prompt_tokens);
  }
  void visit_shared_tokens(AxisVisitor& visitor) {
    visitor.integer(
        {"shared_tokens", "tokens", "first tokens of a prompt that all prompts have in common"},
        {0, kMostTokens}, shared_tokens);
  }
};

// The steps of an engine.
struct StepAxes {
  int64_t prefill_chunk = 512;

  void visit_prefill_chunk(AxisVisitor& visitor) {
    visitor.integer({"prefill_chunk", "tokens", "most prompt tokens that one step computes"},
                    {1, kMostTokens}, prefill_chunk);
  }
};

// The axes of a group's requests. The default and the range of new_tokens differ between kinds, so
// each kind visits new_tokens itself.
struct RequestAxes : PromptAxes, StepAxes {
  int64_t new_tokens = 1;
  int64_t modules = 1;  // pieces that the shared tokens are cut into; only "ttft" has this axis
};

inline const MetricInfo kPrefixMs = {"prefix_ms", "ms",
                                     "declaring the shared prefix, once, before the first request"};
inline const MetricInfo kPrefillTokensPerS = {
    "prefill_tokens_per_s", "tokens/s",
    "prompt tokens, reused ones too, over the median time of their prefill"};
inline const MetricInfo kKvMb = {"kv_mb", "MB", "peak of keys and values held"};
inline const MetricInfo kReusedTokens = {
    "reused_tokens", "tokens",
    "prompt tokens whose keys and values were there already, where the method counts them"};
// Set in every record of the kinds that run requests, in addition to the metrics in KindInfo.
inline const MetricInfo kPromptTokensTotal = {"prompt_tokens_total", "tokens",
                                              "prompt tokens of all requests"};

}  // namespace reprise::experiments
