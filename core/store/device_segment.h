// A segment of KV states in the memory of a device other than the CPU.
#pragma once

#include <cstdint>
#include <memory>

#include "core/device/buffer.h"
#include "core/store/segment_buffer.h"
#include "core/store/segment_store.h"

namespace reprise::kv {

// Keys and values are [layers, kv_heads, tokens, head_dim] each. Neither copied nor moved.
//
// A segment in host memory is copied layer by layer beside the device's work, so that a layer's
// computation waits for that layer's copy only. [Prompt Cache §4.2 copies from host memory first]
class DeviceSegment {
 public:
  // A segment of zeros, to be written by steps. Throws ShapeError for a bad shape, and MemoryError
  // if the device has no room.
  DeviceSegment(std::shared_ptr<DeviceRuntime> runtime, const SegmentShape& shape);
  // A complete copy of the host's states.
  DeviceSegment(std::shared_ptr<DeviceRuntime> runtime, const SegmentBuffer& states);
  // A segment of the host whose layers are still to be copied by begin_layers(). Holds the handle
  // until drop_source().
  DeviceSegment(std::shared_ptr<DeviceRuntime> runtime,
                std::shared_ptr<const SegmentHandle> source);
  DeviceSegment(const DeviceSegment&) = delete;
  DeviceSegment& operator=(const DeviceSegment&) = delete;
  ~DeviceSegment();

  [[nodiscard]] const SegmentShape& shape() const { return shape_; }
  [[nodiscard]] const std::shared_ptr<DeviceRuntime>& runtime() const { return runtime_; }
  // The cache that a plan's segment reads: one block at offset 0.
  [[nodiscard]] CacheView view() const;

  // Checks and begins to copy the layers up to and including `layer` that have not begun. Throws as
  // SegmentHandle::check_layer() does.
  void begin_layers(int64_t layer);
  // Work given from here on begins when the copies begun so far are done.
  void await_copies();
  // True if work given from here on finds all layers.
  [[nodiscard]] bool is_whole() const { return awaited_ == shape_.layers; }
  // Releases the host's segment and waits for the device, if is_whole(); else does nothing.
  void drop_source();

  // A copy in the host's memory, made after all work given so far.
  [[nodiscard]] SegmentBuffer to_host() const;

 private:
  void finish_copies();

  SegmentShape shape_;
  std::shared_ptr<DeviceRuntime> runtime_;
  Buffer keys_, values_;
  std::shared_ptr<const SegmentHandle> source_;  // null without a source, or after drop_source()
  // Number of leading layers whose copy has begun, and of those whose copy was awaited.
  int64_t begun_ = 0, awaited_ = 0;
};

}  // namespace reprise::kv
