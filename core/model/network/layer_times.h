// Measures the time of each layer of a step: choosing, attention, feed-forward.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/device/device_runtime.h"
#include "core/model/network/layer_policy.h"

namespace reprise::model {

// Sums over the steps so far, in nanoseconds. Excludes what runs before the first and after the
// last layer (embedding, head).
struct LayerTime {
  int64_t choosing_ns = 0;      // the policy, such as AttnCache's retrieval and loading
  int64_t attention_ns = 0;     // input norm to output projection
  int64_t feed_forward_ns = 0;  // the rest of the block
  // Parts of attention_ns, if LayerTimes splits attention; else 0. The rest of attention_ns is the
  // norm, writing the cache, applying the map and the output projection; also scores and softmax,
  // unless a map is computed as values.
  int64_t queries_ns = 0, keys_ns = 0, values_ns = 0, rotary_ns = 0, map_ns = 0;
};

// A clock for a model on a device: waits for all of the device's work and returns the steady clock
// in nanoseconds. With a null runtime, the steady clock.
std::function<int64_t()> device_clock(std::shared_ptr<DeviceRuntime> runtime);

// Passes the choices of another policy on and times them and the layers. If the policy asks for a
// layer's input norm, that is computed once and counts as choosing. [AttnCache table 4]
class LayerTimes final : public LayerPolicy {
 public:
  // `inner` may be null: every layer computes. Both must outlive this object. An empty `clock_ns`
  // means the steady clock; a model on a device needs device_clock(), because calls there return
  // before their work is done.
  LayerTimes(int64_t layers, LayerPolicy* inner, std::function<int64_t()> clock_ns = {});

  // From the next step on, attention is computed and timed in parts, or as a whole (the default).
  void split_attention(bool splits) { splits_ = splits; }

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
  [[nodiscard]] bool splits_attention() const override { return splits_; }
  void beginning(int64_t layer, AttentionPart part) override;
  void computed(int64_t layer, AttentionPart part) override;

  [[nodiscard]] const std::vector<LayerTime>& layers() const { return times_; }
  void reset();

 private:
  LayerPolicy* inner_;
  std::function<int64_t()> clock_ns_;
  std::vector<LayerTime> times_;  // [layers]
  int64_t last_ns_ = 0;           // beginning of the part of the block being timed
  bool splits_ = false;
  int64_t part_ns_ = 0;  // beginning of the part of attention being timed
};

}  // namespace reprise::model
