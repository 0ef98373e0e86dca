#include "experiments/kinds/latency/prompt_lengths.h"

#include <utility>

#include "core/base/error.h"
#include "workloads/longbench/latency_sets.h"

namespace reprise::experiments {
namespace {

namespace longbench = workloads::longbench;

bool has_dataset(const TtftAxes& axes) { return axes.dataset != kNoDataset; }

// Throws Error if the axis `name`, which the data set determines, is set as well.
void require_unsaid(const TtftAxes& axes, const char* name, int64_t value, int64_t fallback) {
  if (value == fallback) return;
  raise("dataset is {}, which says how long its prompts are, and {} is {}: leave {} out",
        axes.dataset, name, value, name);
}

TtftAxes with_dataset(TtftAxes axes) {
  const TtftAxes unsaid;
  require_unsaid(axes, "prompt_tokens", axes.prompt_tokens, unsaid.prompt_tokens);
  require_unsaid(axes, "shared_tokens", axes.shared_tokens, unsaid.shared_tokens);
  require_unsaid(axes, "fresh_tokens", axes.fresh_tokens, unsaid.fresh_tokens);
  const longbench::LatencySet& set_of = longbench::find_latency_set(axes.dataset);
  const int64_t context = longbench::context_tokens(set_of, axes.context_limit);
  axes.prompt_tokens = context + set_of.fresh_tokens();
  axes.fresh_tokens = set_of.fresh_tokens();
  axes.shared_tokens = context;
  return axes;
}

Words dataset_names() {
  Words words{{kNoDataset}};
  for (const longbench::LatencySet& set : longbench::latency_sets())
    words.names.emplace_back(set.name);
  return words;
}

}  // namespace

void TtftAxes::visit(AxisVisitor& visitor) {
  visit_prompt_tokens(visitor);
  visitor.integer({"new_tokens", "tokens", "tokens to generate, the first included"},
                  {1, kMostNewTokens}, new_tokens);
  visit_prefill_chunk(visitor);
  visit_shared(visitor);
  visitor.word({"dataset", "",
                "LongBench set whose estimated lengths stand for prompt_tokens and fresh_tokens: "
                "the context is shared, question and cue are fresh; texts stay the workload's",
                /*came_later=*/true},
               dataset_names(), dataset);
  visitor.integer({"context_limit", "tokens",
                   "that a data set's context is cut to; the authors' program: 3500 for Llama",
                   /*came_later=*/true},
                  {2, kMostTokens}, context_limit);
}

void TtftAxes::visit_shared(AxisVisitor& visitor) {
  visit_shared_tokens(visitor);
  visitor.integer({"fresh_tokens", "tokens",
                   "last tokens of a prompt that no other has, which says shared_tokens by the "
                   "rest; 0: shared_tokens says it",
                   /*came_later=*/true},
                  {0, kMostTokens}, fresh_tokens);
  visitor.integer({"modules", "modules",
                   "pieces of equal length that the shared tokens are cut into, for methods that "
                   "keep each by itself",
                   /*came_later=*/true},
                  {1, 1 << 16}, modules);
}

TtftAxes with_lengths(TtftAxes axes) {
  if (has_dataset(axes)) return with_dataset(std::move(axes));
  if (axes.context_limit != TtftAxes().context_limit)
    raise("context_limit cuts a data set's context, and there is none: name one with dataset");
  const int64_t fresh = axes.fresh_tokens, prompt = axes.prompt_tokens;
  if (fresh == 0) return axes;
  if (axes.shared_tokens != 0)
    raise("fresh_tokens is {} and shared_tokens {}: give one of them, the other follows", fresh,
          axes.shared_tokens);
  if (fresh > prompt)
    raise("fresh_tokens is {}, but a prompt has {} tokens: set prompt_tokens to at least {}", fresh,
          prompt, fresh);
  axes.shared_tokens = prompt - fresh;
  return axes;
}

void add_lengths(const TtftAxes& axes, Fields& resolved) {
  if (!has_dataset(axes)) return;
  resolved["prompt_tokens"] = axes.prompt_tokens;
  resolved["fresh_tokens"] = axes.fresh_tokens;
  resolved["shared_tokens"] = axes.shared_tokens;
}

}  // namespace reprise::experiments
