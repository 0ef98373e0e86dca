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
// rows, and not at all without rows. A row's expert outputs are added in the order of its choices,
// largest weight first, so the sum does not depend on threads.
class Experts {
 public:
  explicit Experts(Network& network) : network_(network), feed_forward_(network) {}

  // Allocates buffers for steps of `rows` rows.
  void prepare(int64_t rows);
  // residual [rows, hidden] f32 += MLP of `layer` (x), with x [rows, hidden] in the network's
  // dtype.
  void add(const PartSet& layer, const void* x, int64_t rows, float* residual);
  // Number of experts that had rows in the last add().
  [[nodiscard]] int64_t touched() const { return touched_; }

 private:
  void route(const PartSet& layer, const void* x, int64_t rows);
  // The first `count` values of logits_ in host memory; waits for another device.
  std::span<const float> logits(int64_t count);
  void add_shared(const PartSet& layer, const void* x, int64_t rows, float* residual);

  Network& network_;
  FeedForward feed_forward_;
  Buffer logits_;                // [rows, experts] f32; later the shared expert's gate [rows]
  std::vector<float> on_host_;   // logits_ copied from another device
  std::vector<int32_t> chosen_;  // [rows, per_token]
  std::vector<float> weights_;   // [rows, per_token]
  kernels::ExpertGroups groups_;
  Buffer picked_;  // [pairs, hidden]  rows of x, expert by expert
  Buffer made_;    // [pairs, hidden] f32  outputs of the experts
  int64_t touched_ = 0;
};

}  // namespace reprise::model
