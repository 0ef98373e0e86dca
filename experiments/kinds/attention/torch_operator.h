// Attention by libtorch over private keys and values, as an operator of kind "attention".
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "baselines/torch/torch_attention.h"
#include "core/device/buffer.h"
#include "experiments/kinds/attention/attention_operator.h"

namespace reprise::experiments {

// True if `name` is one of baselines::torch_baselines().
[[nodiscard]] bool is_torch_baseline(const std::string& name);

// Throws Error if libtorch is missing or cannot run the baseline, because it does not support the
// context's device or the dtype of keys and values (libtorch 1.13 does not support f16).
void check_torch_baseline(const MethodChoice& method, const AttentionProblem& problem,
                          const Context& context);

// The device whose memory libtorch uses for the context.
[[nodiscard]] DeviceHandle torch_device(const Context& context);

// A cache with its own keys and values for every sequence, as a PyTorch user keeps them. It is
// packed for the current number of tokens. Views into a longer cache would need no packing, but
// libtorch's bmm is 10 to 20 times slower on such views in bf16. Room for all steps is allocated
// at once, on huge pages. All torch baselines of a group share one cache.
class PrivateCache {
 public:
  // Makes an empty cache in the memory of the context's device. `values` must outlive this.
  PrivateCache(const AttentionProblem& problem, const TokenValues& values, const Context& context);

  // Packs the cache with the first `tokens` tokens of every sequence, rounded to the cache's dtype.
  // Does nothing if the cache is packed for `tokens` tokens already.
  void pack(int64_t tokens);
  // Writes the newest token of every sequence again. On a GPU it enqueues the copy on the device's
  // stream.
  void store_newest();

  // Keys [batch, kv_heads, tokens, head_dim] in the device's memory.
  [[nodiscard]] const void* keys() const { return keys_.data(); }
  [[nodiscard]] const void* values() const { return values_.data(); }

  // Bytes of a cache: keys and values of all sequences at their full length.
  [[nodiscard]] static int64_t bytes(const AttentionProblem& problem);

 private:
  // Keys and values of a sequence on the host: [kv_heads, tokens, head_dim].
  struct Tokens {
    char* keys;
    char* values;
    int64_t tokens;
  };
  [[nodiscard]] Tokens host_tokens(int64_t sequence);
  // Stores token `token` of sequence `sequence` as token `at` of `to`.
  void store(int64_t sequence, int64_t token, const Tokens& to, int64_t at) const;
  void bring();         // copies all tokens to the device
  void bring_newest();  // copies the tokens that store_newest() wrote

  AttentionProblem problem_;
  const TokenValues& tokens_;
  Context context_;
  int64_t packed_tokens_ = 0;
  Buffer keys_, values_;
  // Used only with a device: sequence_keys_, sequence_values_ hold one sequence on the host;
  // newest_keys_, newest_values_ hold the newest tokens on the device, [batch, kv_heads, head_dim].
  AlignedBuffer sequence_keys_, sequence_values_;
  Buffer newest_keys_, newest_values_;
};

// Decode steps by libtorch. parts() is empty, because libtorch's attention cannot be split from
// outside.
class TorchAttentionOperator final : public AttentionOperator {
 public:
  // Throws as check_torch_baseline(). On a GPU, queries have the dtype of keys and values, as in a
  // model that PyTorch runs there. On a CPU, queries are in f32, as for this project's kernels.
  TorchAttentionOperator(const MethodChoice& method, const AttentionProblem& problem,
                         const TokenValues& values, std::shared_ptr<PrivateCache> cache,
                         const Context& context);

  void advance() override { ++tokens_; }
  void settle() override;
  void append() override { cache_->store_newest(); }
  void attend() override;
  void read_output(std::span<float> out) override;
  [[nodiscard]] double kv_bytes_read() const override;
  [[nodiscard]] int64_t kv_peak_bytes() const override { return PrivateCache::bytes(problem_); }
  // In bf16 and f16 libtorch rounds more often than this project's kernels. It stores scaled
  // queries, scores, weights and outputs in the dtype, each with a relative error of at most
  // u = 2^-8 (f16: 2^-11).
  //
  // Rounding a score s changes its weight by a factor exp(e) with |e| <= u |s|, and rounding the
  // query with |e| <= u |q k|. Scores of TokenValues have variance 1, so of 10^6 scores none
  // reaches 8, and |e| <= 4 u: half the spacing of the dtype's numbers between 4 and 8. Errors of
  // different keys and of the four sources are independent, so the output moves by less than
  // sqrt(4^2 + 3) u < 5 u of its norm. 8 u = 2^-5 (f16: 2^-8) leaves room for rounded sums; keys of
  // another sequence or head change it by about 1.
  [[nodiscard]] Rounding rounding() const override;
  void report(const reuse::MetricSink& sink) const override { (void)sink; }
  // The field `kernel` gives libtorch's version and the name of the kernel that ran.
  [[nodiscard]] Fields resolved() const override;

 private:
  AttentionProblem problem_;
  const TokenValues& values_;
  std::shared_ptr<DeviceRuntime> runtime_;  // null: the CPU's
  std::shared_ptr<PrivateCache> cache_;
  baselines::TorchProblem step_;  // the problem; `tokens` grows from step to step
  int64_t tokens_;                // tokens of each sequence, the newest included
  Buffer queries_;                // [batch, heads * head_dim] of the newest tokens
  std::optional<baselines::TorchAttention> attention_;  // over the present length
};

}  // namespace reprise::experiments
