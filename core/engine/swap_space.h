// Keeps the states of preempted sequences outside the cache until they run again.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>

#include "core/device/context.h"
#include "core/engine/preemption.h"
#include "core/engine/request.h"
#include "core/kv/token_run.h"
#include "core/store/segment_buffer.h"

namespace reprise::engine {

// States lie in memory, or in files with checksums. The files are in a folder of their own, which
// the destructor removes. Errors never end a step: states that cannot be kept or read are counted
// and computed again.
class SwapSpace {
 public:
  // Throws Error, with the remedy, for a negative budget. For kSwapDisk, also throws Error if the
  // folder is missing in `options` or cannot be written.
  explicit SwapSpace(const SwapOptions& options);
  ~SwapSpace();
  SwapSpace(const SwapSpace&) = delete;
  SwapSpace& operator=(const SwapSpace&) = delete;

  [[nodiscard]] bool keeps_any() const { return options_.preemption != Preemption::kRecompute; }
  // Keeps the states of the sequence's tokens in `runs`, which follow one another. If `cache` has
  // no memory, there are no states to copy and only the counts are kept.
  void keep(RequestId id, const kv::CacheView& cache, int64_t layers,
            std::span<const kv::TokenRun> runs, const Context& context);
  // Range of a sequence's tokens whose states are kept; both are 0 if none are.
  struct Range {
    int32_t first_token = 0, end_token = 0;
  };
  [[nodiscard]] Range kept(RequestId id) const;
  // Copies the states of `runs`, which must be kept, back into the cache. Returns false if they
  // cannot be read.
  [[nodiscard]] bool restore(RequestId id, const kv::CacheView& cache,
                             std::span<const kv::TokenRun> runs, const Context& context);
  // Forgets the kept states of sequence `id`, if there are any.
  void drop(RequestId id);
  // Like drop(), but also counts the sequence in SwapStats::lost: its kept states are useless,
  // because tokens before them must be computed.
  void lose(RequestId id);

  [[nodiscard]] const SwapStats& stats() const { return stats_; }

 private:
  struct Kept {
    Range tokens;
    int64_t bytes = 0;
    std::optional<kv::SegmentBuffer> states;  // if kept in memory
    std::filesystem::path file;               // if kept in a file
  };

  // Runs `action`. If it throws, counts the failure and returns false.
  bool attempt(const std::function<void()>& action);
  void keep_states(RequestId id, Kept& kept, kv::SegmentBuffer states) const;

  SwapOptions options_;
  std::filesystem::path own_folder_;
  std::unordered_map<RequestId, Kept> kept_;
  SwapStats stats_;
};

}  // namespace reprise::engine
