// Measures the times of each layer of a step: the policy's choice, attention, feed-forward.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/device/device_runtime.h"
#include "core/model/network/layer_policy.h"

namespace reprise::model {

// Times of a layer, summed over the steps so far, in nanoseconds. Work before the first and after
// the last layer (embedding, head) is not included.
struct LayerTime {
  int64_t choosing_ns = 0;      // the policy's work, such as AttnCache's retrieval and loading
  int64_t attention_ns = 0;     // from the input norm to the output projection
  int64_t feed_forward_ns = 0;  // the rest of the block
  // Parts of attention_ns if LayerTimes splits attention, else 0. The rest of attention_ns is the
  // norm, writing the cache, applying the map and the output projection. It also includes scores
  // and softmax, unless the whole map is stored.
  int64_t queries_ns = 0, keys_ns = 0, values_ns = 0, rotary_ns = 0, map_ns = 0;
};

// Returns a clock for a model on a device. It waits until the device has done all its work, then
// returns the time of the steady clock in nanoseconds. With a null runtime it is the steady clock.
std::function<int64_t()> device_clock(std::shared_ptr<DeviceRuntime> runtime);

// Passes on the choices of another policy, and measures the time of these choices and of the
// layers. If the policy asks for a layer's input norm, the norm is computed once and counts as
// choosing. [AttnCache table 4]
class LayerTimes final : public LayerPolicy {
 public:
  // A null `inner` means that every layer computes. `inner`, and what `clock_ns` refers to, must
  // outlive this object. An empty `clock_ns` means the steady clock. A model on a device needs
  // device_clock(), because calls on a device return before their work is done.
  LayerTimes(int64_t layers, LayerPolicy* inner, std::function<int64_t()> clock_ns = {});

  // Sets whether attention is computed and timed in parts from the next step on. By default it is
  // not.
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
  int64_t last_ns_ = 0;           // time when the part of the block that is being timed began
  bool splits_ = false;
  int64_t part_ns_ = 0;  // time when the part of attention that is being timed began
};

}  // namespace reprise::model
