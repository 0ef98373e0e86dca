// Lengths of the prompts of kind "ttft" and of their shared part, given in tokens or by the name of
// a data set.
#pragma once

#include <string>

#include "experiments/framework/shared_info.h"

namespace reprise::experiments {

inline constexpr const char* kNoDataset = "none";

// `dataset` determines prompt_tokens and fresh_tokens. fresh_tokens determines shared_tokens, which
// is the rest of the prompt. with_lengths() sets the lengths that are determined in this way.
struct TtftAxes : RequestAxes {
  int64_t fresh_tokens = 0;  // 0: shared_tokens is given instead
  std::string dataset = kNoDataset;
  int64_t context_limit = 3500;

  void visit(AxisVisitor& visitor);

 private:
  void visit_shared(AxisVisitor& visitor);
};

// Returns `axes` with prompt_tokens and shared_tokens computed from dataset or fresh_tokens. Throws
// Error if two axes set the same length, or an axis is set that has no effect.
[[nodiscard]] TtftAxes with_lengths(TtftAxes axes);

// Adds the lengths that a data set stands for to a point's resolved settings. Without a data set
// adds nothing, not even the shared_tokens that fresh_tokens determines. `axes` is the result of
// with_lengths().
void add_lengths(const TtftAxes& axes, Fields& resolved);

}  // namespace reprise::experiments
