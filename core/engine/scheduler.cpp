#include "core/engine/scheduler.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"

namespace reprise::engine {

bool FirstComeScheduler::comes_before(const WaitingRequest& a, const WaitingRequest& b) const {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.arrival_ns != b.arrival_ns) return a.arrival_ns < b.arrival_ns;
  return a.submission < b.submission;
}

bool FirstComeScheduler::admits(const WaitingRequest& /*head*/, const StepView& /*view*/) {
  return true;
}

void FirstComeScheduler::share(const StepView& view, std::span<int32_t> rows) {
  const auto decodes = [](const RunningSequence& sequence) {
    return sequence.is_decoding && sequence.pending == 1;
  };
  const auto count = std::count_if(view.running.begin(), view.running.end(), decodes);
  int32_t budget = std::max(1, view.step_tokens - static_cast<int32_t>(count));
  for (size_t i = 0; i < view.running.size(); ++i) {
    const bool is_prompt = !decodes(view.running[i]);
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
  const bool any_prefill = std::any_of(view.running.begin(), view.running.end(),
                                       [](const auto& sequence) { return sequence.pending > 1; });
  int32_t budget = view.step_tokens;
  for (size_t i = 0; i < view.running.size(); ++i) {
    const RunningSequence& sequence = view.running[i];
    const bool waits = any_prefill && sequence.pending == 1 && sequence.is_decoding;
    rows[i] = waits ? 0 : any_prefill ? std::min(budget, sequence.pending) : 1;
    budget -= rows[i];
  }
}

namespace {

struct Known {
  const char* name;
  std::shared_ptr<Scheduler> (*make)();
};

constexpr std::array kKnown = {
    Known{"first_come",
          []() -> std::shared_ptr<Scheduler> { return std::make_shared<FirstComeScheduler>(); }},
    Known{"prefill_first", []() -> std::shared_ptr<Scheduler> {
            return std::make_shared<PrefillFirstScheduler>();
          }}};

}  // namespace

std::vector<std::string> known_schedulers() {
  std::vector<std::string> names;
  for (const Known& known : kKnown) names.emplace_back(known.name);
  return names;
}

std::shared_ptr<Scheduler> make_scheduler(const std::string& name) {
  for (const Known& known : kKnown)
    if (name == known.name) return known.make();
  raise("{}", unknown_name("scheduler", name, known_schedulers()));
}

}  // namespace reprise::engine
