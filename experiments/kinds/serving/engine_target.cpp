#include "experiments/kinds/serving/engine_target.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "core/base/error.h"

namespace reprise::experiments {
namespace {

using serving::Outcome;

constexpr double kNanosecond = 1e-9;

double seconds(int64_t ns) { return static_cast<double>(ns) * kNanosecond; }

}  // namespace

Outcome outcome_of(engine::FinishReason finish) {
  switch (finish) {
    case engine::FinishReason::kRefused:
      return Outcome::kRefused;
    case engine::FinishReason::kCancelled:
      return Outcome::kCancelled;
    default:
      return Outcome::kServed;
  }
}

serving::StepEntry step_entry_of(const engine::StepReport& step) {
  return {.start_s = seconds(step.start_ns),
          .end_s = seconds(step.end_ns),
          .prefill_tokens = step.prefill_tokens,
          .decode_tokens = step.decode_tokens,
          .batch = step.batch,
          .waiting = step.waiting,
          .preempted = step.preempted,
          .read_bytes = step.read_bytes,
          .kv_bytes = step.peak_kv_bytes,
          .scheduling_s = seconds(step.scheduling_ns + step.swapping_ns),
          .shared_tokens = step.shared_tokens,
          .repeated_tokens = step.repeated_tokens};
}

std::vector<serving::KernelEntry> kernel_entries_of(const OperationLog& operations,
                                                    double start_s) {
  std::vector<serving::KernelEntry> entries;
  for (const OperationTime& operation : operations.times())
    if (const double begin_s = seconds(operation.begin_ns) - start_s; begin_s >= 0)
      entries.push_back({operation.name, begin_s, seconds(operation.end_ns) - start_s});
  return entries;
}

bool EngineTarget::flush() {
  for (const std::string& name : prefixes_) engine_.drop_prefix(name);
  prefixes_.clear();
  return engine_.pool().used_blocks() == 0;
}

void EngineTarget::declare_prefix(const workloads::DeclaredPrefix& prefix) {
  engine_.declare_prefix(prefix.name, prefix.tokens);
  prefixes_.push_back(prefix.name);
}

void EngineTarget::submit(int64_t id, workloads::ServingRequest request, double intended_s) {
  lengths_[id] = static_cast<int64_t>(request.prompt.size());
  engine_.submit({.id = id,
                  .prompt = std::move(request.prompt),
                  .max_new_tokens = static_cast<int32_t>(request.output_tokens),
                  .arrival_ns = std::llround(intended_s / kNanosecond)});
}

void EngineTarget::advance(double until_s, serving::TargetReport& report) {
  if (!engine_.has_work()) return wait_until(until_s);
  const engine::StepReport step = engine_.step();
  add_step(step, report);
  for (const engine::TokenEvent& event : step.events) add_event(event, report);
}

void EngineTarget::cancel_all() {
  for (const auto& [id, length] : lengths_) engine_.cancel(id);
}

void EngineTarget::add_event(const engine::TokenEvent& event, serving::TargetReport& report) {
  if (event.request < 0)
    raise("a prefix cannot be kept: {}. Give more memory to keys and values, or declare less",
          event.reason);
  serving::TargetEvent out{
      .request = event.request, .time_s = seconds(event.time_ns), .preemptions = event.preemptions};
  if (event.has_token()) {
    out.tokens = 1;
    out.token_ids = {event.token};
    ++lengths_[event.request];
  }
  if (event.finish != engine::FinishReason::kNone) {
    out.is_end = true;
    out.outcome = outcome_of(event.finish);
    out.reason = event.reason.empty() && out.outcome != Outcome::kServed ? name_of(event.finish)
                                                                         : event.reason;
    out.sent_s = seconds(event.times.submitted);
    if (event.times.admitted != engine::kNotYet) out.admitted_s = seconds(event.times.admitted);
    out.cached_tokens = event.cached_tokens;
    lengths_.erase(event.request);
  }
  report.events.push_back(std::move(out));
}

void EngineTarget::add_step(const engine::StepReport& step, serving::TargetReport& report) {
  if (step.batch == 0) return;  // no step was computed: the report has only ends of requests
  serving::StepEntry entry = step_entry_of(step);
  // Every token except the first was sampled from a row that saw the tokens before it.
  for (const engine::TokenEvent& event : step.events)
    if (event.has_token() && event.index > 0)
      entry.context_tokens += std::min(most_context_, lengths_.at(event.request));
  report.steps.push_back(entry);
}

void EngineTarget::wait_until(double until_s) const {
  if (virtual_clock_ != nullptr) {
    // Rounded up and increased by 1 ns, so that the clock reaches `until_s`.
    const int64_t until_ns = static_cast<int64_t>(std::ceil(until_s / kNanosecond)) + 1;
    return virtual_clock_->advance_to(until_ns);
  }
  // A sleep may end late, so the last kAwakeS seconds are spent awake.
  constexpr double kAwakeS = 200e-6;
  for (double left = until_s - clock_.now_s(); left > 0; left = until_s - clock_.now_s())
    if (left > kAwakeS) std::this_thread::sleep_for(std::chrono::duration<double>(left - kAwakeS));
}

}  // namespace reprise::experiments
