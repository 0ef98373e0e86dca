// Ways to copy the attention states of cached tokens within a machine's memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/device/context.h"
#include "core/kv/segment_buffer.h"
#include "experiments/framework/kind.h"
#include "methods/prompt_cache/copy_states.h"

namespace reprise::experiments {

inline constexpr const char* kHostToHost = "host_to_host";
inline constexpr const char* kGather = "gather";
inline constexpr const char* kMappedFile = "mapped_file";

// For KindInfo::own_methods.
[[nodiscard]] std::vector<OwnMethod> state_routes();

// Made-up states of one shape and what the routes need to copy them.
class StateRoutes {
 public:
  // `modules`: of route gather, at most as many as the shape has tokens. Of other routes than
  // `wanted` nothing is set up. Throws Error where memory or disk refuse.
  StateRoutes(const kv::SegmentShape& shape, const std::vector<std::string>& wanted,
              int64_t modules, const Context& context);

  // Whatever a route takes before its time begins: the file is brought into memory, and what was
  // gathered before is given up.
  void prepare(const std::string& route);
  // Copies keys and values of all layers; returns the nanoseconds that took. Layers are copied by
  // the context's threads. Call prepare() before.
  int64_t run(const std::string& route);
  // Runs a route and tells whether every byte is the source's.
  [[nodiscard]] bool copies_all(const std::string& route);

 private:
  void make_modules(int64_t count);
  void write_file();
  [[nodiscard]] bool is_gathered() const;

  Context context_;
  kv::SegmentShape shape_;
  kv::SegmentBuffer source_, target_;
  std::vector<prompt_cache::StateRun> modules_;  // runs of source_
  prompt_cache::CopyBuffer buffer_;
  prompt_cache::CopiedStates gathered_;
  std::shared_ptr<const std::filesystem::path> folder_;  // removed with this
  std::filesystem::path file_;
};

}  // namespace reprise::experiments
