// Gathers imported states in one buffer before use, as the paper's buffered concatenation does, for
// the variant of Prompt Cache that copies. [Prompt Cache §4.2]
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/device/context.h"
#include "core/store/device_segment.h"
#include "core/store/segment_buffer.h"
#include "methods/prompt_cache/imports.h"

namespace reprise::prompt_cache {

// A buffer for the copies of one prompt at a time. It is kept between prompts, as in the paper: a
// new buffer would cost more than the copy, because the system clears its memory first.
class CopyBuffer {
 public:
  // Returns a buffer with room for at least `shape` and undefined content. Reuses the last buffer
  // unless `shape` does not fit into it or its states are still in use.
  std::shared_ptr<const kv::SegmentBuffer> take(const kv::SegmentShape& shape);
  // Like take() above, for a buffer in the memory of the device of `runtime`.
  std::shared_ptr<const kv::DeviceSegment> take(const std::shared_ptr<DeviceRuntime>& runtime,
                                                const kv::SegmentShape& shape);

 private:
  std::shared_ptr<const kv::SegmentBuffer> last_;
  std::shared_ptr<const kv::DeviceSegment> last_on_device_;
};

struct CopiedStates {
  std::vector<StateRun> runs;  // one per given run, all in one buffer; see copy_states()
  int64_t bytes = 0;           // bytes copied: keys and values of all layers
};

// Copies the states of `runs`, which must all have the same shape and dtype and `layers` layers
// each. Attention over the copies gives the same bits as attention over `runs`. The copy runs on
// the threads of `context`, or on the device whose memory contains or receives the states. Throws
// as SegmentHandle::check_layer().
CopiedStates copy_states(const std::vector<StateRun>& runs, int64_t layers, const Context& context,
                         CopyBuffer& buffer);

}  // namespace reprise::prompt_cache
