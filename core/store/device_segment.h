// Keys and values of a run of tokens in the memory of a device other than the CPU.
#pragma once

#include <cstdint>
#include <memory>

#include "core/device/buffer.h"
#include "core/store/segment_buffer.h"
#include "core/store/segment_store.h"

namespace reprise::kv {

// Owned, neither copied nor moved.   keys, values  [layers, kv_heads, tokens, head_dim] each
//
// A segment of the host arrives layer by layer, beside the device's work: what computes a layer
// waits for that layer's copy alone, while the next one is under way. [Prompt Cache §4.2 copies
// from host memory before it computes]
class DeviceSegment {
 public:
  // Zeros, to be written by steps. Throws ShapeError, and MemoryError where the device has no room.
  DeviceSegment(std::shared_ptr<DeviceRuntime> runtime, const SegmentShape& shape);
  // A copy of the host's states, all of it.
  DeviceSegment(std::shared_ptr<DeviceRuntime> runtime, const SegmentBuffer& states);
  // Of a segment of the host, none of whose layers is there yet. The handle is held until
  // drop_source().
  DeviceSegment(std::shared_ptr<DeviceRuntime> runtime,
                std::shared_ptr<const SegmentHandle> source);
  DeviceSegment(const DeviceSegment&) = delete;
  DeviceSegment& operator=(const DeviceSegment&) = delete;
  ~DeviceSegment();

  [[nodiscard]] const SegmentShape& shape() const { return shape_; }
  [[nodiscard]] const std::shared_ptr<DeviceRuntime>& runtime() const { return runtime_; }
  // As a plan reads it: one block at offset 0.
  [[nodiscard]] CacheView view() const;

  // Begins the copies of layers up to `layer` that have not begun. The source's layers are checked
  // before. Throws as SegmentHandle::check_layer().
  void begin_layers(int64_t layer);
  // Work that is given from here on begins when the copies that have begun are done.
  void await_copies();
  // Whether all layers are there for work that is given from here on.
  [[nodiscard]] bool is_whole() const { return awaited_ == shape_.layers; }
  // Gives up the host's segment once all layers are there; does nothing before. Waits for the
  // device.
  void drop_source();

  // A copy in the host's memory, when the work given so far is done.
  [[nodiscard]] SegmentBuffer to_host() const;

 private:
  void finish_copies();

  SegmentShape shape_;
  std::shared_ptr<DeviceRuntime> runtime_;
  Buffer keys_, values_;
  std::shared_ptr<const SegmentHandle> source_;  // null: there is none, or no more
  int64_t begun_ = 0, awaited_ = 0;  // layers whose copies have begun, and were waited for
};

}  // namespace reprise::kv
