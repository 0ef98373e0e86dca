#include "experiments/framework/kinds.h"

#include "baselines/torch/torch_attention.h"

namespace reprise::experiments {
namespace {

constexpr int64_t kMostTokens = int64_t{1} << 20;

const Axis kPromptTokens = {"prompt_tokens", 128, 1, kMostTokens, "tokens", "length of a prompt"};
const Axis kSharedTokens = {
    "shared_tokens", 0,        0,
    kMostTokens,     "tokens", "first tokens of a prompt that all prompts have in common"};
const Axis kPrefillChunk = {"prefill_chunk", 512,      1,
                            kMostTokens,     "tokens", "most prompt tokens that one step computes"};

const MetricInfo kPrefixMs = {"prefix_ms", "ms",
                              "declaring the shared prefix, once, before the first request"};
const MetricInfo kKvMb = {"kv_mb", "MB", "peak of keys and values held"};

KindInfo ttft_info() {
  return {.name = "ttft",
          .summary = "one request at a time: time to first token, then time per further token",
          .axes = {kPromptTokens,
                   {"new_tokens", 1, 1, 65536, "tokens", "tokens to generate, the first included"},
                   kPrefillChunk,
                   kSharedTokens},
          .metrics = {
              {"ttft_ms", "ms", "from submitting the request to its first token"},
              {"tpot_ms", "ms", "mean time of a further token (with new_tokens > 1)"},
              {"e2e_ms", "ms", "from submitting the request to its last token"},
              kPrefixMs,
              {"prefill_tokens_per_s", "tokens/s",
               "prompt tokens, reused ones too, over the median TTFT"},
              {"prefill_gflop_s", "GFLOP/s", "arithmetic of a prefill without reuse over the TTFT"},
              {"compute_limit_ratio", "ratio",
               "the same over this machine's measured rate, for methods that reused nothing"},
              kKvMb}};
}

KindInfo decode_info() {
  return {.name = "decode",
          .summary = "a batch of sequences that generate together: time and rate of a decode step",
          .axes = {{"batch", 1, 1, 4096, "sequences", "sequences that decode together"},
                   kPromptTokens,
                   {"new_tokens", 32, 2, 65536, "tokens", "tokens each sequence generates"},
                   kPrefillChunk,
                   kSharedTokens},
          .metrics = {{"step_ms", "ms", "one token for every sequence of the batch"},
                      {"decode_tokens_per_s", "tokens/s", "batch over the median step time"},
                      {"prefill_ms", "ms", "from submitting the batch to its last first token"},
                      kPrefixMs,
                      {"prefill_tokens_per_s", "tokens/s",
                       "prompt tokens of the batch, reused ones too, over their prefill time"},
                      {"streamed_gb_s", "GB/s",
                       "what a step must read at least, weights and distinct keys and values once, "
                       "over its time"},
                      {"memory_limit_ratio", "ratio", "the same over this machine's measured rate"},
                      {"compute_limit_ratio", "ratio",
                       "arithmetic of a step over its time and this machine's measured rate"},
                      kKvMb}};
}

KindInfo exactness_info() {
  return {
      .name = "exactness",
      .summary =
          "greedy tokens and logits of batches against the contiguous cache with one request at a "
          "time; nothing is timed or warmed up",
      .axes = {{"batch", 8, 1, 4096, "sequences", "sequences that generate together"},
               kPromptTokens,
               {"new_tokens", 32, 1, 65536, "tokens", "tokens each sequence generates"},
               kPrefillChunk,
               kSharedTokens},
      .metrics = {
          {"generations", "generations", "requests compared, of all repetitions"},
          {"compared_tokens", "tokens", "of each, up to and including the first that differs"},
          {"diverged", "generations", "whose tokens part from the reference"},
          {"largest_tie_gap", "logit",
           "largest of the divergences in rounded dtypes: between the logits in f32 of the two "
           "tokens where they part"},
          {"largest_tie_gap_ratio", "ratio",
           "the same over twice the largest error that this dtype makes over this text"},
          {"unexplained", "generations",
           "that diverged in f32, or with a tie_gap_ratio or logits differing from the reference's "
           "by a share of that error above 1.5: 0 for an exact method"},
          {"max_logit_difference", "logit", "largest difference of a logit over compared_tokens"},
          {"logit_scale", "logit", "largest logit of the reference, in absolute value"},
          {"reused_tokens", "tokens",
           "prompt tokens whose keys and values were there already, where the method counts them"},
          kKvMb}};
}

std::vector<OwnMethod> torch_baselines() {
  std::vector<OwnMethod> baselines;
  for (const baselines::TorchMethod& method : baselines::torch_methods())
    baselines.push_back({method.name, method.summary});
  return baselines;
}

KindInfo attention_info() {
  return {
      .name = "attention",
      .summary =
          "decode steps of one attention layer over sequences with a shared prefix, no model",
      .axes = {{"batch", 32, 1, 4096, "sequences", "sequences that decode together"},
               {"heads", 32, 1, 1024, "heads", "query heads"},
               {"kv_heads", 0, 0, 1024, "heads", "heads of keys and values; 0: as many as heads"},
               {"head_dim", 128, 1, 256, "elements", "size of a head"},
               {"prompt_tokens", 0, 0, kMostTokens, "tokens",
                "n_p, the shared part included; 0: shared_tokens + context_tokens"},
               {"context_tokens", 0, 0, kMostTokens, "tokens",
                "c, what follows the shared part of a prompt, where prompt_tokens is 0"},
               {"shared_tokens", 0, 0, kMostTokens, "tokens", "n_s, the same for all sequences"},
               {"shared_percent", 0, 0, 100, "%", "n_s as a share of n_p"},
               {"completion_tokens", 1, 1, 65536, "tokens",
                "n_c, tokens each sequence generates; samples are spread evenly over these steps"},
               {"hidden", 0, 0, 65536, "elements",
                "width of the layer; its linear layers are timed too (0: they are not)"},
               {"intermediate", 0, 0, 262144, "elements", "width of its MLP"}},
      .metrics =
          {{"latency_us", "us", "attention of one step, keys and values in memory (caches cold)"},
           {"speedup", "ratio", "time of the file's first method over this one, turn by turn"},
           {"best_ratio", "ratio",
            "time of the point's fastest method over this one, turn by turn: 1 for itself"},
           {"io_bound_speedup", "ratio",
            "B (P + S) / (P + B S): the most that reading P shared keys once can win"},
           {"io_bound_ratio", "ratio", "speedup over io_bound_speedup"},
           {"relay_theory_speedup", "ratio",
            "(s + c + 2) / (s / b + c + 7), RelayAttention eq. 10"},
           {"problem_beside_ratio", "ratio",
            "least time for useful bytes and FLOPs, by rates measured beside, over the time"},
           {"plan_beside_ratio", "ratio",
            "least time for the bytes the plan reads and FLOPs, by rates measured beside, over the "
            "time"},
           {"problem_limit_ratio", "ratio",
            "the same as problem_beside_ratio by the probe's rates"},
           {"plan_limit_ratio", "ratio", "the same as plan_beside_ratio by the probe's rates"},
           {"append_us", "us", "storing keys and values of the step's tokens"},
           {"shared_us", "us",
            "items over several sequences alone (chunk-first phase, system attention)"},
           {"private_us", "us",
            "items over one sequence alone (sequence-first phase, context attention)"},
           {"merge_us", "us", "merging the partial results alone"},
           {"plan_us", "us", "writing the plan of a step"},
           {"tokens_per_s", "tokens/s", "batch over the median time of a step of this layer"},
           {"useful_mb", "MB", "keys and values a step cannot do without, shared ones once"},
           {"read_mb", "MB", "keys and values that the method's plan reads"},
           {"mflop", "MFLOP", "operations of a step"},
           {"intensity", "FLOP/byte", "operations over the bytes the plan reads"},
           {"read_gb_s", "GB/s", "bytes the plan reads over the time"},
           {"gflop_s", "GFLOP/s", "operations over the time"},
           {"beside_gb_s", "GB/s", "DRAM read rate measured beside each turn"},
           {"beside_gflop_s", "GFLOP/s", "arithmetic rate measured beside each turn"},
           kKvMb,
           {"qkv_us", "us", "projection to queries, keys and values"},
           {"qkv_mflop", "MFLOP", "its operations"},
           {"qkv_mb", "MB", "its weights, inputs and outputs"},
           {"qkv_intensity", "FLOP/byte", "their ratio"},
           {"mlp_us", "us", "gated MLP"},
           {"mlp_mflop", "MFLOP", "its operations"},
           {"mlp_mb", "MB", "its weights, inputs and outputs"},
           {"mlp_intensity", "FLOP/byte", "their ratio"}},
      .own_methods = torch_baselines(),
      .takes_model = false};
}

}  // namespace

const std::vector<KindInfo>& known_kinds() {
  static const std::vector<KindInfo> kinds = {ttft_info(), decode_info(), exactness_info(),
                                              attention_info()};
  return kinds;
}

}  // namespace reprise::experiments
