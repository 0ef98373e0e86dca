// One decode step of one attention layer over sequences that share a prefix: its shape, and what it
// cannot do without.
#pragma once

#include <cstdint>

#include "core/base/dtype.h"
#include "core/kv/plan.h"
#include "experiments/framework/kind.h"

namespace reprise::experiments {

// Letters as in the papers: b sequences of n_p prompt tokens each, the first n_s of them the same
// for all (RelayAttention: s = n_s, c = n_p - n_s), which then generate n_c tokens.
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
  // Tokens a sequence has in the end, those it generates included.
  [[nodiscard]] int64_t sequence_tokens() const { return prompt_tokens + completion_tokens; }
};

// The axes of kind "attention". A problem says the same with nothing left open.
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

// The problem that the axes of a group of kind "attention" describe. The shared part is given as
// `shared_tokens` or as `shared_percent` of the prompt, the whole as `prompt_tokens` or as shared
// plus `context_tokens`. Throws Error where they contradict one another, or where heads cannot
// share kv_heads evenly.
[[nodiscard]] AttentionProblem attention_problem(const Group& group);

// Of our outputs: bf16 beside keys in bf16, else f32.
[[nodiscard]] inline DType output_dtype(const AttentionProblem& problem) {
  return problem.kv_dtype == DType::kBF16 ? DType::kBF16 : DType::kF32;
}

// Keys and values of one token in this layer.
[[nodiscard]] int64_t kv_token_bytes(const AttentionProblem& problem);

// Below, `keys` is what each sequence's query sees: its prompt, what it has generated, and itself.

// 4 * heads * head_dim per sequence and key: q k^T and p v, a multiplication and an addition each.
[[nodiscard]] double attention_flop(const AttentionProblem& problem, int64_t keys);

// Bytes of the keys and values that must be read at least: those of the shared tokens once, the
// others once for their sequence.
[[nodiscard]] double useful_kv_bytes(const AttentionProblem& problem, int64_t keys);

// Bytes of the keys and values that a plan reads, each of its items once.
[[nodiscard]] double plan_kv_bytes(const kv::AttentionPlan& plan);

// The most that reading shared keys once can win over reading them for every sequence where memory
// is all that counts:  B (P + S) / (P + B S),  P = n_s shared keys, S = keys - n_s private ones.
// That is RelayAttention eq. 10 with the step's own key, without its terms for queries and outputs.
[[nodiscard]] double io_bound_speedup(const AttentionProblem& problem, int64_t keys);

// (s + c + 2) / (s / b + c + 7): the same with queries, outputs and the fusion of two partial
// results counted.   [RelayAttention §3.4, eq. 10; b = batch, s = n_s]
// c is "the length of request-specific context", 128 in the paper's figure 5: what a sequence holds
// after the shared part when the step begins, c = keys - 1 - n_s. (The step's own key, which ours
// reads too, is not in it. The paper counts a cached token as d elements, not as the 2 d of its key
// and its value, so that queries, outputs and fusion weigh twice what they do.)
[[nodiscard]] double relay_theory_speedup(const AttentionProblem& problem, int64_t keys);

}  // namespace reprise::experiments
