// Ways to copy the attention states of cached tokens: within host memory, to a device's memory, and
// within a device's memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/device/context.h"
#include "core/store/device_segment.h"
#include "core/store/segment_buffer.h"
#include "experiments/framework/kind.h"
#include "methods/prompt_cache/copy_states.h"

namespace reprise::experiments {

inline constexpr const char* kHostToHost = "host_to_host";
inline constexpr const char* kGather = "gather";
inline constexpr const char* kMappedFile = "mapped_file";
inline constexpr const char* kHostToDevice = "host_to_device";
inline constexpr const char* kDeviceToDevice = "device_to_device";

[[nodiscard]] bool needs_device(const std::string& route);

// The routes, for KindInfo::series.
[[nodiscard]] std::vector<Series> state_routes();

// Made-up states of one shape, and everything that the routes need to copy them.
class StateRoutes {
 public:
  // Sets up only the routes in `wanted`. `modules` is the number of modules that route "gather"
  // copies, at most the shape's number of tokens. Routes that need a device use the context's
  // device. Throws Error if host memory, device memory or disk have no room.
  StateRoutes(const kv::SegmentShape& shape, const std::vector<std::string>& wanted,
              int64_t modules, const Context& context);

  // Does the untimed work before a route: reads the route's file into memory, and releases the
  // previous gathered copy.
  void prepare(const std::string& route);
  // Copies keys and values of all layers and returns the time in nanoseconds. On the host the
  // context's threads share the layers; a device's copies are waited for. Call prepare() before.
  int64_t run(const std::string& route);
  // Runs a route. Returns true if every byte of its copy equals the source's.
  [[nodiscard]] bool copies_all(const std::string& route);
  // True if the source's memory is page-locked, so that the device copies directly from it;
  // otherwise the copy goes through other memory.
  [[nodiscard]] bool is_source_locked() const { return keys_lock_.holds() && values_lock_.holds(); }

 private:
  void make_device_states(const std::string& route);
  void copy_to_device();
  void make_modules(int64_t count);
  void write_file();
  [[nodiscard]] bool is_gathered() const;

  Context context_;  // context of the CPU
  std::shared_ptr<DeviceRuntime> runtime_;
  kv::SegmentShape shape_;
  kv::SegmentBuffer source_, target_;
  HostLock keys_lock_, values_lock_;  // page-lock the memory of source_
  std::unique_ptr<kv::DeviceSegment> device_source_, device_target_;
  std::vector<prompt_cache::StateRun> modules_;  // the modules, as ranges of source_
  prompt_cache::CopyBuffer buffer_;
  prompt_cache::CopiedStates gathered_;
  std::shared_ptr<const std::filesystem::path> folder_;  // of file_; removed with this
  std::filesystem::path file_;
};

}  // namespace reprise::experiments
