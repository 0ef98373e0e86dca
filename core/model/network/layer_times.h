// Where a step's time goes, layer by layer: choosing, attention, feed-forward.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/device/device_runtime.h"
#include "core/model/network/layer_policy.h"

namespace reprise::model {

// Sums over the steps so far, in nanoseconds. Whatever runs before the first layer and after the
// last one (embedding, head) is in none of them.
struct LayerTime {
  int64_t choosing_ns = 0;      // the policy: AttnCache's retrieval and loading
  int64_t attention_ns = 0;     // input norm to output projection
  int64_t feed_forward_ns = 0;  // the rest of the block
};

// Of a model on a device, nanoseconds of the steady clock behind all work that it was given; the
// steady clock where it is null.
std::function<int64_t()> device_clock(std::shared_ptr<DeviceRuntime> runtime);

// A policy that times another one and what becomes of its choices. What choosing asks of a layer's
// input (its norm) is computed once and counts as choosing. [AttnCache table 4]
class LayerTimes final : public LayerPolicy {
 public:
  // `inner` may be null: every layer computes. Both outlive this. `clock_ns` as in
  // engine::EngineOptions; empty: the steady clock. Of a model on a device take device_clock():
  // there calls return before their work is done.
  LayerTimes(int64_t layers, LayerPolicy* inner, std::function<int64_t()> clock_ns = {});

  LayerChoice choose(LayerInput& input) override;
  [[nodiscard]] bool is_of_prefill_alone() const override {
    return inner_ != nullptr && inner_->is_of_prefill_alone();
  }
  void observe_map(int64_t layer, const kernels::MapView& map) override;
  [[nodiscard]] bool reads_residual() const override {
    return inner_ != nullptr && inner_->reads_residual();
  }
  void passed(int64_t layer, BlockPoint point, const TensorView& residual) override;
  void overruled(int64_t layer) override;

  [[nodiscard]] const std::vector<LayerTime>& layers() const { return times_; }
  void reset();

 private:
  LayerPolicy* inner_;
  std::function<int64_t()> clock_ns_;
  std::vector<LayerTime> times_;  // [layers]
  int64_t last_ns_ = 0;           // when the part under way began
};

}  // namespace reprise::model
