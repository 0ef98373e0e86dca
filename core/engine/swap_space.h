// States of preempted sequences, kept outside the cache until they run again.
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

// In memory, or each in a file that carries hashes of what it holds, in a folder of the space's own
// which goes with it. Nothing here ends a step: what cannot be kept or read is counted, and the
// sequence computes it again.
class SwapSpace {
 public:
  // Throws Error, with the remedy, for a budget below 0, and for kSwapDisk without a folder or with
  // one that cannot be written to.
  explicit SwapSpace(const SwapOptions& options);
  ~SwapSpace();
  SwapSpace(const SwapSpace&) = delete;
  SwapSpace& operator=(const SwapSpace&) = delete;

  [[nodiscard]] bool keeps_any() const { return options_.preemption != Preemption::kRecompute; }
  // Keeps the states of a sequence's tokens that the runs name, one behind the other. A cache
  // without memory has none: then the books are kept alone.
  void keep(RequestId id, const kv::CacheView& cache, int64_t layers,
            std::span<const kv::TokenRun> runs, const Context& context);
  // Tokens of the sequence that are kept: none where both are 0.
  struct Range {
    int32_t first_token = 0, end_token = 0;
  };
  [[nodiscard]] Range kept(RequestId id) const;
  // Writes the runs' tokens, which are among those kept, to the cache. False: they cannot be read.
  [[nodiscard]] bool restore(RequestId id, const kv::CacheView& cache,
                             std::span<const kv::TokenRun> runs, const Context& context);
  // Forgets what is kept of the sequence, if there is any.
  void drop(RequestId id);
  // The same, and counts it: the tokens before those that are kept have to be computed.
  void lose(RequestId id);

  [[nodiscard]] const SwapStats& stats() const { return stats_; }

 private:
  struct Kept {
    Range tokens;
    int64_t bytes = 0;
    std::optional<kv::SegmentBuffer> states;  // in memory
    std::filesystem::path file;               // else there
  };

  // Runs what may fail; whether it did not.
  bool attempt(const std::function<void()>& action);
  void keep_states(RequestId id, Kept& kept, kv::SegmentBuffer states) const;

  SwapOptions options_;
  std::filesystem::path own_folder_;
  std::unordered_map<RequestId, Kept> kept_;
  SwapStats stats_;
};

}  // namespace reprise::engine
