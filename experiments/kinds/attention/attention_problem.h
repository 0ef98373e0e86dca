// The shape of one decode step of one attention layer over sequences that share a prefix, and the
// arithmetic and bytes that it needs.
//
// RelayAttention eq. 10 (relay_theory_speedup() below) counts differently from the other functions
// here in two ways. It leaves out the key of the step's own token, which the kernels here also
// read. And it counts a cached token as d elements instead of 2 d (key and value), so that queries,
// outputs and fusion weigh twice as much as they should. The paper's figure 5 uses c = 128.
#pragma once

#include <cstdint>

#include "core/base/dtype.h"
#include "core/kv/plan.h"
#include "experiments/framework/kind.h"

namespace reprise::experiments {

// `batch` sequences (the papers' b) have prompts of `prompt_tokens` (n_p) each. The first
// `shared_tokens` (n_s) of a prompt are the same in all sequences. Each sequence then generates
// `completion_tokens` (n_c). RelayAttention writes s for n_s and c for n_p - n_s.
struct AttentionProblem {
  int64_t batch = 1;
  int64_t heads = 1, kv_heads = 1, head_dim = 1;
  int64_t prompt_tokens = 1;
  int64_t shared_tokens = 0;
  int64_t completion_tokens = 1;
  DType kv_dtype = DType::kF32;
  uint64_t seed = 1;

  [[nodiscard]] int64_t q_dim() const { return heads * head_dim; }
  [[nodiscard]] int64_t kv_dim() const { return kv_heads * head_dim; }
  // Tokens of a sequence at the end, including the generated ones.
  [[nodiscard]] int64_t sequence_tokens() const { return prompt_tokens + completion_tokens; }
};

// The axes of kind "attention". attention_problem() turns them into an AttentionProblem, with all
// defaults resolved.
struct AttentionAxes {
  int64_t batch = 32;
  int64_t heads = 32;
  int64_t kv_heads = 0;  // 0: as many as heads
  int64_t head_dim = 128;
  int64_t prompt_tokens = 0;  // 0: shared_tokens + context_tokens
  int64_t context_tokens = 0;
  int64_t shared_tokens = 0;
  int64_t shared_percent = 0;
  int64_t completion_tokens = 1;
  int64_t hidden = 0;  // 0: linear layers are not timed
  int64_t intermediate = 0;

  void visit(AxisVisitor& visitor);

 private:
  void visit_layer(AxisVisitor& visitor);
  void visit_sequences(AxisVisitor& visitor);
  void visit_around(AxisVisitor& visitor);
};

// The problem that the axes of a group of kind "attention" describe. The shared prefix is given as
// `shared_tokens` or as `shared_percent` of the prompt. The prompt's length is given as
// `prompt_tokens` or as the shared prefix plus `context_tokens`. Throws Error if these axes
// contradict each other, or if `heads` is not a multiple of `kv_heads`.
[[nodiscard]] AttentionProblem attention_problem(const Group& group);

// The dtype of the kernels' outputs: bf16 with keys in bf16, otherwise f32.
[[nodiscard]] inline DType output_dtype(const AttentionProblem& problem) {
  return problem.kv_dtype == DType::kBF16 ? DType::kBF16 : DType::kF32;
}

// Bytes of the keys and values of one token in this layer.
[[nodiscard]] int64_t kv_token_bytes(const AttentionProblem& problem);

// In the functions below, `keys` is the number of tokens that each sequence's query sees: the
// prompt, the tokens generated so far, and the query's own token.

// FLOPs of a step: 4 * heads * head_dim per sequence and key, since q k^T and p v each take one
// multiplication and one addition.
[[nodiscard]] double attention_flop(const AttentionProblem& problem, int64_t keys);

// The least bytes of keys and values that must be read: shared tokens once, and each sequence's own
// tokens once.
[[nodiscard]] double useful_kv_bytes(const AttentionProblem& problem, int64_t keys);

// Bytes of keys and values that a plan reads, if each work item reads its keys and values once.
[[nodiscard]] double plan_kv_bytes(const kv::AttentionPlan& plan);

// The largest speedup from reading shared keys once instead of once per sequence, if only reading
// takes time: B (P + S) / (P + B S), with B = batch, P = n_s shared keys and S = keys - n_s private
// keys. It is RelayAttention eq. 10 with the step's own key and without the terms for queries and
// outputs.
[[nodiscard]] double io_bound_speedup(const AttentionProblem& problem, int64_t keys);

// (s + c + 2) / (s / b + c + 7): io_bound_speedup() with queries, outputs and the fusion of two
// partial results. [RelayAttention §3.4, eq. 10; b = batch, s = n_s] c is the context length after
// the shared part when the step begins, c = keys - 1 - n_s.
[[nodiscard]] double relay_theory_speedup(const AttentionProblem& problem, int64_t keys);

}  // namespace reprise::experiments
