#include "app/serve_trace.h"

#include "app/output.h"
#include "core/base/steady_now.h"

namespace reprise::app {
namespace {

namespace serving = experiments::serving;

constexpr int64_t kMostKept = int64_t{1} << 20;
constexpr double kNanosecond_s = 1e-9;

// The service's outcome comes first: the engine reports an answer that ended with a stop text as
// cancelled.
serving::Outcome outcome_of(const std::string& outcome, engine::FinishReason finish) {
  if (outcome == "stop" || outcome == "length") return serving::Outcome::kServed;
  const serving::Outcome in_engine = experiments::outcome_of(finish);
  return in_engine == serving::Outcome::kServed ? serving::Outcome::kFailed : in_engine;
}

}  // namespace

ServeTrace::ServeTrace(const std::string& path) : writer_(path), begin_ns_(steady_now_ns()) {}

void ServeTrace::step(const engine::StepReport& report) {
  if (report.batch == 0) return;  // the step only reported requests that ended
  if (std::ssize(log_.steps) == kMostKept) {
    ++left_out_;
    return;
  }
  serving::StepEntry entry = experiments::step_entry_of(report);
  const double begin_s = static_cast<double>(begin_ns_) * kNanosecond_s;
  entry.start_s -= begin_s;
  entry.end_s -= begin_s;
  log_.steps.push_back(entry);
}

void ServeTrace::ended(const std::string& outcome, const engine::TokenEvent& last,
                       int64_t prompt_tokens, int64_t generated_tokens) {
  if (std::ssize(log_.requests) == kMostKept) {
    ++left_out_;
    return;
  }
  const auto at = [this](int64_t ns) {
    return ns == engine::kNotYet ? -1 : static_cast<double>(ns - begin_ns_) * kNanosecond_s;
  };
  serving::RequestEntry entry{.index = std::ssize(log_.requests),
                              .intended_s = at(last.times.intended),
                              .sent_s = at(last.times.submitted),
                              .admitted_s = at(last.times.admitted),
                              .done_s = at(last.times.done),
                              .prompt_tokens = prompt_tokens,
                              .cached_tokens = last.cached_tokens,
                              .preemptions = last.preemptions,
                              .outcome = outcome_of(outcome, last.finish)};
  if (entry.outcome != serving::Outcome::kServed) entry.reason = outcome;
  if (generated_tokens > 0) entry.token_s.push_back(at(last.times.first_token));
  if (generated_tokens > 1) entry.token_s.push_back(entry.done_s);
  entry.unkept_tokens = generated_tokens - std::ssize(entry.token_s);
  log_.requests.push_back(std::move(entry));
}

void ServeTrace::finish(const std::string& name) {
  if (left_out_ > 0)
    note("note: --trace keeps {} steps and as many requests; {} later ones are left out\n",
         kMostKept, left_out_);
  log_.start_s = static_cast<double>(begin_ns_) * kNanosecond_s;
  log_.kernels = experiments::kernel_entries_of(operations_, log_.start_s);
  writer_.add(name, log_);
  writer_.finish();
}

}  // namespace reprise::app
