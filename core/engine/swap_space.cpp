#include "core/engine/swap_space.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "core/base/error.h"
#include "core/base/write_all.h"
#include "core/store/segment_file.h"
#include "core/store/token_states.h"

namespace reprise::engine {
namespace {

// Creates, inside the user's folder, a folder to which no other engine writes.
std::filesystem::path make_own_folder(const SwapOptions& options) {
  const std::filesystem::path& folder = options.folder;
  if (folder.empty())
    raise("preemption swap_disk needs {}: name one on a disk with room for the states",
          options.folder_option);
  const std::string other_folder =
      fmt::format("Name one that you may write to with {}.", options.folder_option);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    raise("making the swap folder {} failed: {}. {}", folder.string(), error.message(),
          write_remedy(error.value(), other_folder));
  std::string own = (folder / "swap-XXXXXX").string();
  if (::mkdtemp(own.data()) == nullptr)
    raise("making a folder in the swap folder {} failed: {}. {}", folder.string(),
          std::strerror(errno), write_remedy(errno, other_folder));
  return own;
}

int64_t bytes_of(const kv::CacheView& cache, int64_t layers, int64_t tokens) {
  return kv::SegmentShape{.layers = layers,
                          .kv_heads = cache.kv_heads,
                          .tokens = tokens,
                          .head_dim = cache.head_dim,
                          .dtype = cache.dtype}
      .bytes();
}

}  // namespace

SwapSpace::SwapSpace(const SwapOptions& options) : options_(options) {
  if (options.most_bytes < 0)
    raise("swap.most_bytes is {}, it must be at least 1, or 0 for no budget", options.most_bytes);
  if (options.preemption == Preemption::kSwapDisk) own_folder_ = make_own_folder(options);
}

SwapSpace::~SwapSpace() {
  std::error_code ignored;
  if (!own_folder_.empty()) std::filesystem::remove_all(own_folder_, ignored);
}

bool SwapSpace::attempt(const std::function<void()>& action) {
  try {
    action();
    return true;
  } catch (const std::exception& error) {
    ++stats_.failed;
    stats_.last_failure = error.what();
    return false;
  }
}

void SwapSpace::keep(RequestId id, const kv::CacheView& cache, int64_t layers,
                     std::span<const kv::TokenRun> runs, const Context& context) {
  REPRISE_CHECK(!kept_.contains(id), "request {} has states here", id);
  if (runs.empty()) return;
  Kept kept{.tokens = {.first_token = runs.front().first_token,
                       .end_token = runs.back().first_token + runs.back().tokens}};
  kept.bytes = bytes_of(cache, layers, kept.tokens.end_token - kept.tokens.first_token);
  if (options_.most_bytes > 0 && stats_.held_bytes + kept.bytes > options_.most_bytes) {
    ++stats_.full;
    return;
  }
  const bool has_kept = attempt([&] {
    if (cache.keys != nullptr) keep_states(id, kept, copy_out(cache, layers, runs, context));
  });
  if (!has_kept) return;
  ++stats_.swapped_out;
  ++stats_.held_sequences;
  stats_.held_bytes += kept.bytes;
  stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.held_bytes);
  kept_.emplace(id, std::move(kept));
}

void SwapSpace::keep_states(RequestId id, Kept& kept, kv::SegmentBuffer states) const {
  if (options_.preemption == Preemption::kSwapHost) {
    kept.states = std::move(states);
    return;
  }
  kept.file = own_folder_ / fmt::format("{}.segment", id);
  kv::write_segment(kept.file, fmt::format("request {}", id), states);
}

SwapSpace::Range SwapSpace::kept(RequestId id) const {
  const auto found = kept_.find(id);
  return found == kept_.end() ? Range{} : found->second.tokens;
}

bool SwapSpace::restore(RequestId id, const kv::CacheView& cache,
                        std::span<const kv::TokenRun> runs, const Context& context) {
  const Kept& kept = kept_.at(id);
  const int32_t first_token = kept.tokens.first_token;
  const bool is_restored = attempt([&] {
    if (kept.states)
      copy_back(*kept.states, first_token, runs, cache, context);
    else if (!kept.file.empty())
      copy_back(kv::SegmentFile(kept.file, kv::Verify::kHeader).read(), first_token, runs, cache,
                context);
  });
  if (is_restored) ++stats_.swapped_in;
  return is_restored;
}

void SwapSpace::lose(RequestId id) {
  ++stats_.lost;
  drop(id);
}

void SwapSpace::drop(RequestId id) {
  const auto found = kept_.find(id);
  if (found == kept_.end()) return;
  std::error_code ignored;
  if (!found->second.file.empty()) std::filesystem::remove(found->second.file, ignored);
  --stats_.held_sequences;
  stats_.held_bytes -= found->second.bytes;
  kept_.erase(found);
}

}  // namespace reprise::engine
