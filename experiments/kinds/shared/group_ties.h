// Judges near ties for the model of a group.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "experiments/kinds/shared/bench.h"
#include "experiments/kinds/shared/near_tie.h"

namespace reprise::experiments {

// Judges near ties (near_tie.h). If the group stores or computes in a dtype narrower than f32, the
// first call of judge() loads the model in f32, in addition to the bench's model. If the group is
// in f32, its own model computes the text twice, the second time token by token, so that sums are
// added in another order; NearTie's D is then the difference between these two.
class GroupTies {
 public:
  // All arguments must outlive this object. `chunk` is passed to NearTieJudge.
  GroupTies(Bench& bench, const Group& group, int32_t chunk);

  // Judges as NearTieJudge::judge(). Throws Error or MemoryError if the model in f32 cannot be
  // loaded; the message says what the model is needed for.
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

// True if the group's keys and values or its arithmetic have a dtype narrower than f32.
[[nodiscard]] bool is_rounded(const Group& group);
// Adds the memory of the model in f32, if the group is rounded.
void add_model_of_ties(const Group& group, MemoryNeed& need);

}  // namespace reprise::experiments
