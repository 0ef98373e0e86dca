// Judges near ties for the model of a group.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "experiments/kinds/shared/bench.h"
#include "experiments/kinds/shared/near_tie.h"

namespace reprise::experiments {

// For a group in a rounded dtype, the model in f32 is loaded beside the bench's model when the
// first text is judged. A group in f32 needs no second model: D (NearTie) is then the change from
// computing the text token by token, which adds in another order.
class GroupTies {
 public:
  // All arguments must outlive it. `chunk` is passed to NearTieJudge.
  GroupTies(Bench& bench, const Group& group, int32_t chunk);

  // Judges as NearTieJudge::judge(). Throws Error or MemoryError with the purpose if the model in
  // f32 cannot be loaded.
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

// True if keys, values or arithmetic of the group are rounded below f32.
[[nodiscard]] bool is_rounded(const Group& group);

}  // namespace reprise::experiments
