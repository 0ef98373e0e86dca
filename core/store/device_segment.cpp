#include "core/store/device_segment.h"

#include "core/base/error.h"

namespace reprise::kv {

DeviceSegment::DeviceSegment(std::shared_ptr<DeviceRuntime> runtime, const SegmentShape& shape)
    : shape_(shape), runtime_(std::move(runtime)), begun_(shape.layers), awaited_(shape.layers) {
  validate(shape_);
  keys_ = Buffer(runtime_, shape_.half_bytes());
  values_ = Buffer(runtime_, shape_.half_bytes());
}

DeviceSegment::DeviceSegment(std::shared_ptr<DeviceRuntime> runtime, const SegmentBuffer& states)
    : DeviceSegment(std::move(runtime), states.shape) {
  runtime_->copy_in(keys_.data(), states.keys.data(), shape_.half_bytes());
  runtime_->copy_in(values_.data(), states.values.data(), shape_.half_bytes());
}

DeviceSegment::DeviceSegment(std::shared_ptr<DeviceRuntime> runtime,
                             std::shared_ptr<const SegmentHandle> source)
    : DeviceSegment(std::move(runtime), source->shape()) {
  source_ = std::move(source);
  begun_ = awaited_ = 0;
  // The side copies begin after the buffers are zeroed and after the work that used their memory
  // before is done.
  runtime_->begin_side_copies();
}

DeviceSegment::~DeviceSegment() {
  try {
    finish_copies();
  } catch (const Error&) {  // another call will report the cause
  }
}

CacheView DeviceSegment::view() const {
  CacheView view = view_of(shape_, keys_.data(), values_.data());
  view.device = runtime_->device();
  return view;
}

void DeviceSegment::begin_layers(int64_t layer) {
  REPRISE_CHECK(layer < shape_.layers, "layer {} of {}", layer, shape_.layers);
  const size_t bytes = shape_.half_bytes() / static_cast<size_t>(shape_.layers);
  for (; begun_ <= layer; ++begun_) {
    source_->check_layer(begun_);
    const CacheView from = source_->view();
    // In a mapped file, layers may be further apart than in a buffer.
    const auto source = static_cast<size_t>(begun_ * from.layer_stride) * size_of(shape_.dtype);
    const size_t target = static_cast<size_t>(begun_) * bytes;
    runtime_->copy_in_beside(keys_.as<char>() + target,
                             static_cast<const char*>(from.keys) + source, bytes);
    runtime_->copy_in_beside(values_.as<char>() + target,
                             static_cast<const char*>(from.values) + source, bytes);
  }
}

void DeviceSegment::await_copies() {
  if (is_whole()) return;
  runtime_->await_side_copies();
  awaited_ = begun_;
}

void DeviceSegment::drop_source() {
  if (!is_whole()) return;
  finish_copies();
  source_.reset();
}

// Waits for the copies, before the memory of the host or the device is freed.
void DeviceSegment::finish_copies() {
  if (source_ == nullptr || begun_ == 0) return;
  runtime_->await_side_copies();
  runtime_->synchronize();
}

SegmentBuffer DeviceSegment::to_host() const {
  SegmentBuffer host(shape_);
  runtime_->copy_out(host.keys.data(), keys_.data(), shape_.half_bytes());
  runtime_->copy_out(host.values.data(), values_.data(), shape_.half_bytes());
  return host;
}

}  // namespace reprise::kv
