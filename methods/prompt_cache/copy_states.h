// The variant with copies: imported states gathered in one buffer before they are used, as the
// paper's buffered concatenation does. [Prompt Cache §4.2]
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/device/context.h"
#include "core/store/device_segment.h"
#include "core/store/segment_buffer.h"
#include "methods/prompt_cache/imports.h"

namespace reprise::prompt_cache {

// The buffer that prompts one after another are gathered in, kept between them as the paper's is: a
// fresh one would cost more than the copy, since the system clears it first. One at a time.
class CopyBuffer {
 public:
  // Room for `shape` at least, of any content: the last one unless it is too small or its states
  // are still in use.
  std::shared_ptr<const kv::SegmentBuffer> take(const kv::SegmentShape& shape);
  // The same in the memory of a device.
  std::shared_ptr<const kv::DeviceSegment> take(const std::shared_ptr<DeviceRuntime>& runtime,
                                                const kv::SegmentShape& shape);

 private:
  std::shared_ptr<const kv::SegmentBuffer> last_;
  std::shared_ptr<const kv::DeviceSegment> last_on_device_;
};

struct CopiedStates {
  std::vector<StateRun> runs;  // of one buffer, as given; steps over them have the same bits
  int64_t bytes = 0;           // copied: keys and values of all layers
};

// All states of one shape and dtype, `layers` of them. Layers are copied by the threads of
// `context`, or by the device that the states are on or arrive at.
CopiedStates copy_states(const std::vector<StateRun>& runs, int64_t layers, const Context& context,
                         CopyBuffer& buffer);

}  // namespace reprise::prompt_cache
