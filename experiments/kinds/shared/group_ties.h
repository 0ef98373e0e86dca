// The judge of near ties for the model of a group.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "experiments/kinds/shared/bench.h"
#include "experiments/kinds/shared/near_tie.h"

namespace reprise::experiments {

// Of a group in a rounded dtype, the model in f32 is loaded beside the bench's when the first text
// is judged. A group in f32 needs none: there D is what computing the text a token at a time
// changes, which adds in other orders.
class GroupTies {
 public:
  // All must outlive it. `chunk`: as for NearTieJudge.
  GroupTies(Bench& bench, const Group& group, int32_t chunk);

  // As NearTieJudge::judge(). Throws Error or MemoryError, saying what for, where the model in f32
  // cannot be had.
  NearTie judge(const std::vector<int32_t>& text, int32_t a, int32_t b);

 private:
  model::Decoder& exact_decoder();

  Bench& bench_;
  const Group& group_;
  Group exact_group_;
  Bench exact_bench_;
  int32_t chunk_;
  std::optional<NearTieJudge> judge_;
};

// Whether keys, values or arithmetic of the group are rounded below f32.
[[nodiscard]] bool is_rounded(const Group& group);

}  // namespace reprise::experiments
