// Axes and metrics that several kinds have in common.
#pragma once

#include "experiments/framework/kind.h"

namespace reprise::experiments {

inline constexpr int64_t kMostTokens = int64_t{1} << 20;     // of a prompt
inline constexpr int64_t kMostNewTokens = int64_t{1} << 16;  // of a sequence
inline constexpr int64_t kMostSequences = int64_t{1} << 12;  // of a batch

inline const Axis kPromptTokensAxis = {.name = "prompt_tokens",
                                       .fallback = 128,
                                       .accepted = Integers{1, kMostTokens},
                                       .unit = "tokens",
                                       .help = "length of a prompt"};
inline const Axis kSharedTokensAxis = {
    .name = "shared_tokens",
    .fallback = 0,
    .accepted = Integers{0, kMostTokens},
    .unit = "tokens",
    .help = "first tokens of a prompt that all prompts have in common"};
inline const Axis kPrefillChunkAxis = {.name = "prefill_chunk",
                                       .fallback = 512,
                                       .accepted = Integers{1, kMostTokens},
                                       .unit = "tokens",
                                       .help = "most prompt tokens that one step computes"};

inline const MetricInfo kPrefixMs = {"prefix_ms", "ms",
                                     "declaring the shared prefix, once, before the first request"};
inline const MetricInfo kPrefillTokensPerS = {
    "prefill_tokens_per_s", "tokens/s",
    "prompt tokens, reused ones too, over the median time of their prefill"};
inline const MetricInfo kKvMb = {"kv_mb", "MB", "peak of keys and values held"};
inline const MetricInfo kReusedTokens = {
    "reused_tokens", "tokens",
    "prompt tokens whose keys and values were there already, where the method counts them"};
// In every record of the kinds that run requests, beside what the kind lists.
inline const MetricInfo kPromptTokensTotal = {"prompt_tokens_total", "tokens",
                                              "prompt tokens of all requests"};

}  // namespace reprise::experiments
