// The MLP of a layer with experts: each row passes the few that its router chooses.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/device/buffer.h"
#include "core/kernels/routing/routing.h"
#include "core/model/network/feed_forward.h"
#include "core/model/network/network.h"

namespace reprise::model {

// A step's rows are sorted by expert, so that the matrices of an expert are read once for all of
// its rows, and those of an expert without rows not at all. What the experts make of a row is added
// in the order of its choices, largest weight first: the sum does not depend on the threads.
class Experts {
 public:
  explicit Experts(Network& network) : network_(network), feed_forward_(network) {}

  // Makes room for steps of `rows`.
  void prepare(int64_t rows);
  // residual [rows, hidden] f32 += MLP of `layer` (x), x [rows, hidden] in the network's dtype.
  void add(const PartSet& layer, const void* x, int64_t rows, float* residual);
  // Experts that had rows in the last add().
  [[nodiscard]] int64_t touched() const { return touched_; }

 private:
  void route(const PartSet& layer, const void* x, int64_t rows);
  // The first `count` of logits_, on the host: another device is waited for.
  std::span<const float> logits(int64_t count);
  void add_shared(const PartSet& layer, const void* x, int64_t rows, float* residual);

  Network& network_;
  FeedForward feed_forward_;
  Buffer logits_;                // [rows, experts] f32; then the shared expert's gate [rows]
  std::vector<float> on_host_;   // the same, where rows are sorted by expert
  std::vector<int32_t> chosen_;  // [rows, per_token]
  std::vector<float> weights_;   // [rows, per_token]
  kernels::ExpertGroups groups_;
  Buffer picked_;  // [pairs, hidden]  rows of x, expert by expert
  Buffer made_;    // [pairs, hidden] f32  what the experts made of them
  int64_t touched_ = 0;
};

}  // namespace reprise::model
