// The MLP of a layer with experts: a router chooses a few experts for each row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/device/buffer.h"
#include "core/kernels/routing/routing.h"
#include "core/model/network/feed_forward.h"
#include "core/model/network/network.h"

namespace reprise::model {

// A step's rows are sorted by expert, so that each expert's matrices are read once for all of its
// rows. Matrices of experts without rows are not read. The outputs of a row's experts are added in
// the order of its choices, largest weight first, so the sum does not depend on the number of
// threads.
class Experts {
 public:
  explicit Experts(Network& network) : network_(network), feed_forward_(network) {}

  // Allocates buffers for steps of `rows` rows.
  void prepare(int64_t rows);
  // Adds the MLP of `layer`, applied to x [rows, hidden] in the network's dtype, to residual [rows,
  // hidden] f32.
  void add(const PartSet& layer, const void* x, int64_t rows, float* residual);
  // Number of experts that had rows in the last add().
  [[nodiscard]] int64_t touched() const { return touched_; }

 private:
  void route(const PartSet& layer, const void* x, int64_t rows);
  // Returns the first `count` values of logits_ in host memory. If they are on another device,
  // waits for it and copies them.
  std::span<const float> logits(int64_t count);
  void add_shared(const PartSet& layer, const void* x, int64_t rows, float* residual);

  Network& network_;
  FeedForward feed_forward_;
  // [rows, experts] f32  router logits; later [rows]  logits of the shared expert's gate
  Buffer logits_;
  std::vector<float> on_host_;   // logits_ copied from another device
  std::vector<int32_t> chosen_;  // [rows, per_token]
  std::vector<float> weights_;   // [rows, per_token]
  kernels::ExpertGroups groups_;
  // [pairs, hidden]  the rows of x for each pair of row and expert, sorted by expert
  Buffer picked_;
  Buffer made_;  // [pairs, hidden] f32  output of the expert for each pair
  int64_t touched_ = 0;
};

}  // namespace reprise::model
