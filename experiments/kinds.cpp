#include "experiments/kinds.h"

namespace reprise::experiments {
namespace {

constexpr int64_t kMostTokens = int64_t{1} << 20;

const Axis kPromptTokens = {"prompt_tokens", 128, 1, kMostTokens, "tokens", "length of a prompt"};
const Axis kPrefillChunk = {"prefill_chunk", 512,      1,
                            kMostTokens,     "tokens", "most prompt tokens that one step computes"};

KindInfo ttft_info() {
  return {.name = "ttft",
          .summary = "one request at a time: time to first token, then time per further token",
          .axes = {kPromptTokens,
                   {"new_tokens", 1, 1, 65536, "tokens", "tokens to generate, the first included"},
                   kPrefillChunk},
          .metrics = {
              {"ttft_ms", "ms", "from submitting the request to its first token"},
              {"tpot_ms", "ms", "mean time of a further token (with new_tokens > 1)"},
              {"e2e_ms", "ms", "from submitting the request to its last token"},
              {"prefill_tokens_per_s", "tokens/s", "prompt tokens over the median TTFT"},
              {"prefill_gflop_s", "GFLOP/s", "arithmetic of a prefill without reuse over the TTFT"},
              {"compute_limit_ratio", "ratio", "the same over this machine's measured rate"}}};
}

KindInfo decode_info() {
  return {
      .name = "decode",
      .summary = "a batch of sequences that generate together: time and rate of a decode step",
      .axes = {{"batch", 1, 1, 4096, "sequences", "sequences that decode together"},
               kPromptTokens,
               {"new_tokens", 32, 2, 65536, "tokens", "tokens each sequence generates"},
               kPrefillChunk},
      .metrics = {{"step_ms", "ms", "one token for every sequence of the batch"},
                  {"decode_tokens_per_s", "tokens/s", "batch over the median step time"},
                  {"prefill_tokens_per_s", "tokens/s",
                   "prompt tokens of the batch over their prefill time"},
                  {"streamed_gb_s", "GB/s",
                   "weights and cached keys and values read per step, over its time"},
                  {"memory_limit_ratio", "ratio", "the same over this machine's measured rate"}}};
}

}  // namespace

const std::vector<KindInfo>& known_kinds() {
  static const std::vector<KindInfo> kinds = {ttft_info(), decode_info()};
  return kinds;
}

}  // namespace reprise::experiments
