// A segment of KV states in the memory of a device other than the CPU.
#pragma once

#include <cstdint>
#include <memory>

#include "core/device/buffer.h"
#include "core/store/segment_buffer.h"
#include "core/store/segment_store.h"

namespace reprise::kv {

// Keys and values are [layers, kv_heads, tokens, head_dim] each. Neither copied nor moved.
// A segment in host memory is copied layer by layer while the device computes, so that the
// computation of a layer waits only for the copy of that layer. [Prompt Cache §4.1 copies from host
// memory first]
class DeviceSegment {
 public:
  // A segment of zeros, which steps then fill. Throws ShapeError for a bad shape, and MemoryError
  // if the device has no room.
  DeviceSegment(std::shared_ptr<DeviceRuntime> runtime, const SegmentShape& shape);
  // A complete copy of `states`.
  DeviceSegment(std::shared_ptr<DeviceRuntime> runtime, const SegmentBuffer& states);
  // A segment whose layers begin_layers() copies from `source` later. Holds the handle until
  // drop_source().
  DeviceSegment(std::shared_ptr<DeviceRuntime> runtime,
                std::shared_ptr<const SegmentHandle> source);
  DeviceSegment(const DeviceSegment&) = delete;
  DeviceSegment& operator=(const DeviceSegment&) = delete;
  ~DeviceSegment();

  [[nodiscard]] const SegmentShape& shape() const { return shape_; }
  [[nodiscard]] const std::shared_ptr<DeviceRuntime>& runtime() const { return runtime_; }
  // Returns the cache that a plan's segment reads: one block at offset 0.
  [[nodiscard]] CacheView view() const;

  // Checks all layers up to and including `layer` whose copy has not begun, and begins to copy
  // them. Throws as SegmentHandle::check_layer() does.
  void begin_layers(int64_t layer);
  // Device work that is queued after this call waits for the copies begun so far.
  void await_copies();
  // True if device work that is queued after this call finds all layers.
  [[nodiscard]] bool is_whole() const { return awaited_ == shape_.layers; }
  // If is_whole(), waits for the device and releases the host's segment. Otherwise does nothing.
  void drop_source();

  // Returns a copy in host memory, made after all device work queued so far.
  [[nodiscard]] SegmentBuffer to_host() const;

 private:
  void finish_copies();

  SegmentShape shape_;
  std::shared_ptr<DeviceRuntime> runtime_;
  Buffer keys_, values_;
  std::shared_ptr<const SegmentHandle> source_;  // null without a source, or after drop_source()
  // Number of leading layers whose copy has begun, and number of leading layers that were awaited.
  int64_t begun_ = 0, awaited_ = 0;
};

}  // namespace reprise::kv
