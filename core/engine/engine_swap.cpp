// Swapping: how a preempted sequence's states are kept and copied back at its next admission.
#include <algorithm>

#include "core/base/steady_now.h"
#include "core/engine/engine_state.h"
#include "core/engine/on_device.h"

namespace reprise::engine {
namespace {

// Adds the time from its construction to its destruction to a sum.
class Timed {
 public:
  explicit Timed(int64_t& sum_ns) : sum_ns_(sum_ns) {}
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  ~Timed() { sum_ns_ += steady_now_ns() - begin_ns_; }

 private:
  int64_t& sum_ns_;
  int64_t begin_ns_ = steady_now_ns();
};

}  // namespace

void Engine::State::preempt(Sequence& sequence) {
  swap_out(sequence);
  cache->retire(sequence.request.id, pool);
  sequences.preempt(sequence);
}

// Copies only the states that the cache would lose. States that other requests keep in the cache
// stay there.
void Engine::State::swap_out(const Sequence& sequence) {
  const RequestId id = sequence.request.id;
  if (!swap.keeps_any() || relocatable == nullptr) return;
  const Timed timed(swapping_ns);
  const int32_t first = relocatable->lasting_tokens(id);
  if (first >= sequence.computed) return;
  runs.clear();
  relocatable->locate(id, first, sequence.computed, pool, runs);
  swap.keep(id, pool.view(), pool.options().layers, runs,
            on_device(context, pool.options().runtime));
}

void Engine::State::swap_in(Sequence& sequence) {
  const RequestId id = sequence.request.id;
  const int32_t first = sequence.computed;
  const SwapSpace::Range kept = swap.kept(id);
  if (kept.end_token == 0) return;
  const Timed timed(swapping_ns);
  if (first < kept.first_token) return swap.lose(id);
  const int32_t end = std::min(
      {kept.end_token, most_reused(sequence), static_cast<int32_t>(sequence.tokens.size()) - 1});
  if (first < end) {
    runs.clear();
    relocatable->locate(id, first, end, pool, runs);
    std::erase_if(runs, [](const kv::TokenRun& run) { return run.is_computed; });
    if (swap.restore(id, pool.view(), runs, on_device(context, pool.options().runtime))) {
      relocatable->restored(id, first, end);
      sequence.computed = end;
      restored_tokens += end - first;
    }
  }
  swap.drop(id);
}

int32_t Engine::State::expected_tokens(const Sequence& sequence) const {
  const int32_t in_cache = cache->tokens_in_cache({.id = sequence.request.id,
                                                   .tokens = sequence.compared_tokens(),
                                                   .positions = sequence.positions,
                                                   .most_reused_tokens = most_reused(sequence)});
  const SwapSpace::Range kept = swap.kept(sequence.request.id);
  return in_cache < kept.first_token ? in_cache : std::max(in_cache, kept.end_token);
}

}  // namespace reprise::engine
