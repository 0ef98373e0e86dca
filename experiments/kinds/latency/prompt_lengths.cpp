#include "experiments/kinds/latency/prompt_lengths.h"

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "experiments/framework/shared_info.h"
#include "workloads/longbench/latency_sets.h"

namespace reprise::experiments {
namespace {

namespace longbench = workloads::longbench;

constexpr const char* kNoDataset = "none";

bool has_dataset(const Group& group) { return group.word_axis("dataset") != kNoDataset; }

void set(Group& group, const char* axis, int64_t value) {
  group.axes.insert_or_assign(axis, AxisValue(value));
}

// Throws Error if an axis is given although the data set determines it.
void require_unsaid(const Group& group, const Axis& axis) {
  if (group.axes.at(axis.name) == axis.fallback) return;
  raise("dataset is {}, which says how long its prompts are, and {} is {}: leave {} out",
        group.word_axis("dataset"), axis.name, group.axis(axis.name), axis.name);
}

Group with_dataset(Group group) {
  for (const Axis& axis : {kPromptTokensAxis, kSharedTokensAxis, fresh_tokens_axis()})
    require_unsaid(group, axis);
  const longbench::LatencySet& set_of = longbench::find_latency_set(group.word_axis("dataset"));
  const int64_t context = longbench::context_tokens(set_of, group.axis("context_limit"));
  set(group, "prompt_tokens", context + set_of.fresh_tokens());
  set(group, "fresh_tokens", set_of.fresh_tokens());
  set(group, "shared_tokens", context);
  return group;
}

}  // namespace

Axis fresh_tokens_axis() {
  return {.name = "fresh_tokens",
          .fallback = 0,
          .accepted = Integers{0, kMostTokens},
          .unit = "tokens",
          .help =
              "last tokens of a prompt that no other has, which says shared_tokens by the rest; 0: "
              "shared_tokens says it",
          .came_later = true};
}

Axis dataset_axis() {
  Words words{{kNoDataset}};
  for (const longbench::LatencySet& set : longbench::latency_sets())
    words.names.emplace_back(set.name);
  return {.name = "dataset",
          .fallback = kNoDataset,
          .accepted = words,
          .unit = "",
          .help =
              "LongBench set whose estimated lengths stand for prompt_tokens and fresh_tokens: the "
              "context is shared, question and cue are fresh; texts stay the workload's",
          .came_later = true};
}

Axis context_limit_axis() {
  return {.name = "context_limit",
          .fallback = 3500,
          .accepted = Integers{2, kMostTokens},
          .unit = "tokens",
          .help = "that a data set's context is cut to; the authors' program: 3500 for Llama",
          .came_later = true};
}

Group with_lengths(Group group) {
  if (has_dataset(group)) return with_dataset(std::move(group));
  if (group.axes.at("context_limit") != context_limit_axis().fallback)
    raise("context_limit cuts a data set's context, and there is none: name one with dataset");
  const int64_t fresh = group.axis("fresh_tokens"), prompt = group.axis("prompt_tokens");
  if (fresh == 0) return group;
  if (group.axis("shared_tokens") != 0)
    raise("fresh_tokens is {} and shared_tokens {}: give one of them, the other follows", fresh,
          group.axis("shared_tokens"));
  if (fresh > prompt)
    raise("fresh_tokens is {}, but a prompt has {} tokens: set prompt_tokens to at least {}", fresh,
          prompt, fresh);
  set(group, "shared_tokens", prompt - fresh);
  return group;
}

void add_lengths(const Group& group, Json& resolved) {
  if (!has_dataset(group)) return;
  for (const char* axis : {"prompt_tokens", "fresh_tokens", "shared_tokens"})
    resolved[axis] = group.axis(axis);
}

}  // namespace reprise::experiments
