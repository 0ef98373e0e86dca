#include "core/engine/scheduler.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"

namespace reprise::engine {
namespace {

// True if the sequence's only pending token is one that it generated. False for the last token of a
// prompt, and for a sequence whose tokens are computed again.
bool decodes_one_token(const RunningSequence& sequence) {
  return sequence.is_decoding && sequence.pending == 1;
}

}  // namespace

bool FirstComeScheduler::comes_before(const WaitingRequest& a, const WaitingRequest& b) const {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.arrival_ns != b.arrival_ns) return a.arrival_ns < b.arrival_ns;
  return a.submission < b.submission;
}

bool FirstComeScheduler::admits(const WaitingRequest& /*head*/, const StepView& /*view*/) {
  return true;
}

void FirstComeScheduler::share(const StepView& view, std::span<int32_t> rows) {
  const auto count = std::count_if(view.running.begin(), view.running.end(), decodes_one_token);
  int32_t budget = std::max(1, view.step_tokens - static_cast<int32_t>(count));
  for (size_t i = 0; i < view.running.size(); ++i) {
    const bool is_prompt = !decodes_one_token(view.running[i]);
    rows[i] = is_prompt ? std::min(budget, view.running[i].pending) : 1;
    if (is_prompt) budget -= rows[i];
  }
}

size_t FirstComeScheduler::victim(const StepView& view) {
  size_t chosen = 0;
  for (size_t i = 1; i < view.running.size(); ++i)
    if (view.running[i].priority <= view.running[chosen].priority) chosen = i;
  return chosen;
}

void PrefillFirstScheduler::share(const StepView& view, std::span<int32_t> rows) {
  const bool any_prefill =
      !std::all_of(view.running.begin(), view.running.end(), decodes_one_token);
  int32_t budget = view.step_tokens;
  for (size_t i = 0; i < view.running.size(); ++i) {
    const RunningSequence& sequence = view.running[i];
    const bool waits = any_prefill && decodes_one_token(sequence);
    rows[i] = waits ? 0 : any_prefill ? std::min(budget, sequence.pending) : 1;
    budget -= rows[i];
  }
}

bool ShortestPromptScheduler::comes_before(const WaitingRequest& a, const WaitingRequest& b) const {
  if (a.priority != b.priority) return a.priority > b.priority;
  const int32_t a_tokens = a.tokens - a.cached_tokens, b_tokens = b.tokens - b.cached_tokens;
  if (a_tokens != b_tokens) return a_tokens < b_tokens;
  return FirstComeScheduler::comes_before(a, b);
}

namespace {

struct Known {
  const char* name;
  std::shared_ptr<Scheduler> (*make)(int64_t most_wait_ns);
};

constexpr std::array kKnown = {
    Known{"first_come",
          [](int64_t) -> std::shared_ptr<Scheduler> {
            return std::make_shared<FirstComeScheduler>();
          }},
    Known{"prefill_first",
          [](int64_t) -> std::shared_ptr<Scheduler> {
            return std::make_shared<PrefillFirstScheduler>();
          }},
    Known{"shortest_prompt",
          [](int64_t most_wait_ns) -> std::shared_ptr<Scheduler> {
            return std::make_shared<ShortestPromptScheduler>(most_wait_ns);
          }},
    Known{"prefix_affine", [](int64_t most_wait_ns) -> std::shared_ptr<Scheduler> {
            return std::make_shared<PrefixAffineScheduler>(most_wait_ns);
          }}};

// Limits the wait to a century, so that its nanoseconds fit into 64 bits.
int64_t ns_of(double most_wait_s) {
  constexpr double kCenturySeconds = 3.2e9;
  if (!(most_wait_s >= 0))
    raise("most_wait_s, the bound on waiting, is {}: give 0 seconds or more", most_wait_s);
  return static_cast<int64_t>(std::min(most_wait_s, kCenturySeconds) * 1e9);
}

}  // namespace

std::vector<std::string> known_schedulers() {
  std::vector<std::string> names;
  for (const Known& known : kKnown) names.emplace_back(known.name);
  return names;
}

std::shared_ptr<Scheduler> make_scheduler(const std::string& name,
                                          const SchedulerOptions& options) {
  const int64_t most_wait_ns = ns_of(options.most_wait_s);
  for (const Known& known : kKnown)
    if (name == known.name) return known.make(most_wait_ns);
  raise("{}", unknown_name("scheduler", name, known_schedulers()));
}

}  // namespace reprise::engine
