#include "core/model/network/layer_times.h"

#include <utility>

#include "core/base/steady_now.h"

namespace reprise::model {
namespace {

int64_t& time_of(LayerTime& time, AttentionPart part) {
  switch (part) {
    case AttentionPart::kQueries:
      return time.queries_ns;
    case AttentionPart::kKeys:
      return time.keys_ns;
    case AttentionPart::kValues:
      return time.values_ns;
    case AttentionPart::kRotary:
      return time.rotary_ns;
    case AttentionPart::kMap:
      break;
  }
  return time.map_ns;
}

}  // namespace

std::function<int64_t()> device_clock(std::shared_ptr<DeviceRuntime> runtime) {
  if (runtime == nullptr) return steady_now_ns;
  return [runtime = std::move(runtime)] {
    runtime->synchronize();
    return steady_now_ns();
  };
}

LayerTimes::LayerTimes(int64_t layers, LayerPolicy* inner, std::function<int64_t()> clock_ns)
    : inner_(inner),
      clock_ns_(clock_ns ? std::move(clock_ns) : steady_now_ns),
      times_(static_cast<size_t>(layers)) {}

LayerChoice LayerTimes::choose(LayerInput& input) {
  const int64_t begin_ns = clock_ns_();
  const LayerChoice choice = inner_ != nullptr ? inner_->choose(input) : LayerChoice{};
  last_ns_ = clock_ns_();
  times_.at(static_cast<size_t>(input.layer())).choosing_ns += last_ns_ - begin_ns;
  return choice;
}

void LayerTimes::observe_map(int64_t layer, const kernels::MapView& map) {
  if (inner_ != nullptr) inner_->observe_map(layer, map);
}

void LayerTimes::passed(int64_t layer, BlockPoint point, const TensorView& residual) {
  const int64_t now_ns = clock_ns_();
  LayerTime& time = times_.at(static_cast<size_t>(layer));
  (point == BlockPoint::kAttended ? time.attention_ns : time.feed_forward_ns) += now_ns - last_ns_;
  if (inner_ != nullptr) inner_->passed(layer, point, residual);
  last_ns_ = clock_ns_();  // so that the policy's time in passed() is not counted
}

void LayerTimes::overruled(int64_t layer) {
  if (inner_ != nullptr) inner_->overruled(layer);
}

void LayerTimes::beginning(int64_t /*layer*/, AttentionPart /*part*/) { part_ns_ = clock_ns_(); }

void LayerTimes::computed(int64_t layer, AttentionPart part) {
  time_of(times_.at(static_cast<size_t>(layer)), part) += clock_ns_() - part_ns_;
}

void LayerTimes::reset() { times_.assign(times_.size(), {}); }

}  // namespace reprise::model
