// The router of a layer with experts: chooses the experts of each row and their weights.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/device/context.h"

namespace reprise::kernels {

//   p = softmax(logits_r), over all experts
//   chosen_r   the `per_row` experts of the largest logits, largest first, ties to the lower index
//   weights_r  p of these; with `normalized`, divided by their sum in the order of chosen_r
//
//   logits   [rows, experts] f32, row-major      1 <= per_row <= experts
//   chosen   [rows, per_row]
//   weights  [rows, per_row] f32
// Arithmetic is f32, and sums run in the order of the experts. So the weight of a logit l has a
// relative error of at most (experts + 8 + (max logit - l)) * 2^-24. A row that has NaN or +inf, or
// only -inf, has no softmax: it gets the experts 0, 1, ... and NaN as weights. Allocates nothing.
// Rows are independent, so the result does not depend on the number of threads.
struct RoutingCall {
  const float* logits = nullptr;
  int64_t rows = 0, experts = 0, per_row = 0;
  bool normalized = false;
  int32_t* chosen = nullptr;
  float* weights = nullptr;

  void run(const Context& context) const;
};

// The (row, choice) pairs of a step, sorted by expert.
struct ExpertGroups {
  std::vector<int32_t> begin;   // [experts + 1]  pairs [begin[e], begin[e + 1]) belong to expert e
  std::vector<int32_t> rows;    // [pairs]  row of each pair, ascending within an expert
  std::vector<int32_t> places;  // [rows, per_row]  index of the pair of each choice
};

// Sorts the (row, choice) pairs of a step by the expert chosen. `chosen` is [rows, per_row], as
// RoutingCall writes it, each entry >= 0 and < experts. Reuses the memory of `groups`.
void group_by_expert(std::span<const int32_t> chosen, int64_t per_row, int64_t experts,
                     ExpertGroups& groups);

}  // namespace reprise::kernels
