#include "experiments/kinds/attention/attention_problem.h"

#include <algorithm>

#include "core/base/error.h"
#include "experiments/framework/shared_info.h"

namespace reprise::experiments {
namespace {

// Computes n_s from the axes, as tokens or as a share of the prompt.
int64_t shared_tokens_of(const AttentionAxes& axes) {
  const int64_t tokens = axes.shared_tokens, percent = axes.shared_percent;
  if (tokens > 0 && percent > 0)
    raise(
        "shared_tokens is {} and shared_percent is {}; give the shared part once and set the "
        "other to 0",
        tokens, percent);
  if (percent > 0 && axes.prompt_tokens == 0)
    raise(
        "shared_percent {} is a share of prompt_tokens, which is 0; set prompt_tokens, or give "
        "shared_tokens and context_tokens",
        percent);
  return percent > 0 ? axes.prompt_tokens * percent / 100 : tokens;
}

}  // namespace

void AttentionAxes::visit(AxisVisitor& visitor) {
  visit_layer(visitor);
  visit_sequences(visitor);
  visit_around(visitor);
}

void AttentionAxes::visit_layer(AxisVisitor& visitor) {
  visitor.integer({"batch", "sequences", "sequences that decode together"}, {1, kMostSequences},
                  batch);
  visitor.integer({"heads", "heads", "query heads"}, {1, 1024}, heads);
  visitor.integer({"kv_heads", "heads", "heads of keys and values; 0: as many as heads"}, {0, 1024},
                  kv_heads);
  visitor.integer({"head_dim", "elements", "size of a head"}, {1, 256}, head_dim);
}

void AttentionAxes::visit_sequences(AxisVisitor& visitor) {
  visitor.integer({"prompt_tokens", "tokens",
                   "n_p, the shared part included; 0: shared_tokens + context_tokens"},
                  {0, kMostTokens}, prompt_tokens);
  visitor.integer({"context_tokens", "tokens",
                   "c, what follows the shared part of a prompt, where prompt_tokens is 0"},
                  {0, kMostTokens}, context_tokens);
  visitor.integer({"shared_tokens", "tokens", "n_s, the same for all sequences"}, {0, kMostTokens},
                  shared_tokens);
  visitor.integer({"shared_percent", "%", "n_s as a share of n_p"}, {0, 100}, shared_percent);
  visitor.integer({"completion_tokens", "tokens",
                   "n_c, tokens each sequence generates; samples are spread evenly over these "
                   "steps"},
                  {1, kMostNewTokens}, completion_tokens);
}

void AttentionAxes::visit_around(AxisVisitor& visitor) {
  visitor.integer({"hidden", "elements",
                   "width of the layer; its linear layers are timed too (0: they are not)"},
                  {0, 65536}, hidden);
  visitor.integer({"intermediate", "elements", "width of its MLP"}, {0, 262144}, intermediate);
}

AttentionProblem attention_problem(const Group& group) {
  const auto axes = group.axes_as<AttentionAxes>();
  AttentionProblem problem{.batch = axes.batch,
                           .heads = axes.heads,
                           .kv_heads = axes.kv_heads,
                           .head_dim = axes.head_dim,
                           .prompt_tokens = axes.prompt_tokens,
                           .completion_tokens = axes.completion_tokens,
                           .kv_dtype = group.kv_dtype,
                           .seed = group.seeds.prompts};
  if (problem.kv_heads == 0) problem.kv_heads = problem.heads;
  if (problem.heads % problem.kv_heads != 0)
    raise("{} heads cannot share {} kv_heads evenly; take a divisor of the heads", problem.heads,
          problem.kv_heads);
  problem.shared_tokens = shared_tokens_of(axes);
  if (problem.prompt_tokens > 0 && axes.context_tokens > 0)
    raise(
        "prompt_tokens is {} and context_tokens is {}; give the whole prompt or what follows "
        "its shared part, and set the other to 0",
        problem.prompt_tokens, axes.context_tokens);
  if (problem.prompt_tokens == 0)
    problem.prompt_tokens = problem.shared_tokens + axes.context_tokens;
  if (problem.prompt_tokens == 0)
    raise("the prompt is empty; set prompt_tokens, or shared_tokens and context_tokens");
  if (problem.shared_tokens > problem.prompt_tokens)
    raise("{} shared_tokens are more than the {} prompt_tokens; share at most the prompt",
          problem.shared_tokens, problem.prompt_tokens);
  return problem;
}

int64_t kv_token_bytes(const AttentionProblem& problem) {
  return 2 * problem.kv_dim() * static_cast<int64_t>(size_of(problem.kv_dtype));
}

double attention_flop(const AttentionProblem& problem, int64_t keys) {
  return 4.0 * static_cast<double>(problem.batch * problem.q_dim() * keys);
}

double useful_kv_bytes(const AttentionProblem& problem, int64_t keys) {
  const int64_t tokens = problem.shared_tokens + problem.batch * (keys - problem.shared_tokens);
  return static_cast<double>(tokens * kv_token_bytes(problem));
}

double plan_kv_bytes(const kv::AttentionPlan& plan) {
  double bytes = 0.0;
  for (const kv::WorkItem& item : plan.items) {
    const kv::Segment& segment = plan.segment_of(item);
    const int32_t last_sees = item.visible + (item.end_row - item.first_row) - 1;
    const int64_t tokens =
        item.mask == kv::Mask::kCausal ? std::clamp(last_sees, 0, segment.tokens) : segment.tokens;
    bytes += 2.0 * static_cast<double>(tokens * plan.kv_heads() * plan.head_dim()) *
             static_cast<double>(size_of(plan.cache_of(segment).dtype));
  }
  return bytes;
}

double io_bound_speedup(const AttentionProblem& problem, int64_t keys) {
  const auto b = static_cast<double>(problem.batch);
  const auto p = static_cast<double>(problem.shared_tokens);
  const auto s = static_cast<double>(keys - problem.shared_tokens);
  return b * (p + s) / (p + b * s);
}

double relay_theory_speedup(const AttentionProblem& problem, int64_t keys) {
  const auto b = static_cast<double>(problem.batch);
  const auto s = static_cast<double>(problem.shared_tokens);
  const auto c = static_cast<double>(keys - 1 - problem.shared_tokens);
  return (s + c + 2) / (s / b + c + 7);
}

}  // namespace reprise::experiments
