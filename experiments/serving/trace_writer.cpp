#include "experiments/serving/trace_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/json.h"

namespace reprise::experiments::serving {
namespace {

constexpr int64_t kStepsTrack = 0, kKernelsTrack = 1, kFirstRequestTrack = 2;
constexpr double kBetweenRuns_s = 1;

double end_of(const RequestEntry& entry) {
  return entry.token_s.empty() ? std::max(entry.done_s, entry.intended_s) : entry.token_s.back();
}

const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kServed:
      return "served";
    case Outcome::kRefused:
      return "refused";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kCancelled:
      return "cancelled";
  }
  return "";
}

Fields facts_of(const RequestEntry& entry) {
  Fields facts = {{"prompt_tokens", entry.prompt_tokens},
                  {"generated_tokens", entry.generated()},
                  {"preemptions", entry.preemptions},
                  {"outcome", name_of(entry.outcome)}};
  if (entry.cached_tokens >= 0) facts["cached_tokens"] = entry.cached_tokens;
  if (entry.reasoning_tokens > 0) facts["reasoning_tokens"] = entry.reasoning_tokens;
  if (!entry.reason.empty()) facts["reason"] = entry.reason;
  return facts;
}

}  // namespace

TraceWriter::TraceWriter(const std::filesystem::path& path) : file_(path) {
  file_.write(R"({"displayTimeUnit":"ms","traceEvents":[)");
}

void TraceWriter::write(Fields event) {
  event["pid"] = run_;
  file_.write((is_first_ ? "\n" : ",\n") + json_text(event));
  is_first_ = false;
}

// In trace events, a track is a thread of the run's process.
void TraceWriter::name_track(int64_t track, const std::string& name) {
  write({{"ph", "M"}, {"name", "thread_name"}, {"tid", track}, {"args", Fields{{"name", name}}}});
  // Without an index, viewers sort tracks by name and show request 10 before request 2.
  write({{"ph", "M"},
         {"name", "thread_sort_index"},
         {"tid", track},
         {"args", Fields{{"sort_index", track}}}});
}

void TraceWriter::add_span(const char* category, const char* name, int64_t track, double begin_s,
                           double end_s, Fields facts) {
  Fields event = {{"ph", "X"},    {"cat", category},   {"name", name},
                  {"tid", track}, {"ts", at(begin_s)}, {"dur", (end_s - begin_s) * 1e6}};
  if (!facts.empty()) event["args"] = std::move(facts);
  write(std::move(event));
}

void TraceWriter::add_request(const RequestEntry& entry) {
  const int64_t track = kFirstRequestTrack + entry.index;
  name_track(track, fmt::format("request {}", entry.index));
  const auto span = [&](const char* name, double begin_s, double end_s) {
    add_span("request", name, track, begin_s, end_s, facts_of(entry));
  };
  const double end_s = end_of(entry);
  if (entry.token_s.empty()) {
    span("no answer", entry.intended_s, end_s);
    return;
  }
  double from_s = entry.token_s.front();
  // If the server does not report the admission, the "prefill" span includes the queue.
  const double admitted_s = entry.admitted_s >= 0 ? entry.admitted_s : entry.intended_s;
  if (admitted_s > entry.intended_s) span("queued", entry.intended_s, admitted_s);
  span("prefill", admitted_s, from_s);
  for (const size_t token : entry.preempted_before) {
    if (token == 0) continue;  // preempted while its prompt was computed
    const double last_s = entry.token_s[token - 1];
    if (last_s > from_s) span("decode", from_s, last_s);
    from_s = entry.token_s[token];
    span("preempted", last_s, from_s);
  }
  if (end_s > from_s) span("decode", from_s, end_s);
}

void TraceWriter::add_step(const StepEntry& step) {
  add_span("step", step.prefill_tokens > 0 ? "step with prefill" : "step", kStepsTrack,
           step.start_s, step.end_s,
           {{"prefill_tokens", step.prefill_tokens},
            {"decode_tokens", step.decode_tokens},
            {"kv_read_mb", static_cast<double>(step.read_bytes) * 1e-6},
            {"context_tokens", step.context_tokens},
            {"shared_tokens", step.shared_tokens},
            {"repeated_tokens", step.repeated_tokens},
            {"preempted", step.preempted},
            {"scheduling_us", step.scheduling_s * 1e6}});
  const auto count = [&](const char* name, Fields values) {
    write({{"ph", "C"},
           {"name", name},
           {"tid", kStepsTrack},
           {"ts", at(step.start_s)},
           {"args", std::move(values)}});
  };
  count("requests", {{"running", step.batch}, {"waiting", step.waiting}});
  count("KV cache [MB]", {{"in use", static_cast<double>(step.kv_bytes) * 1e-6}});
}

void TraceWriter::add_kernels(const std::vector<KernelEntry>& kernels) {
  if (!kernels.empty()) name_track(kKernelsTrack, "kernels");
  for (const KernelEntry& kernel : kernels)
    add_span("kernel", kernel.name, kKernelsTrack, kernel.start_s, kernel.end_s);
}

void TraceWriter::add(const std::string& name, const RequestLog& log) {
  write({{"ph", "M"}, {"name", "process_name"}, {"args", Fields{{"name", name}}}});
  if (!log.steps.empty()) name_track(kStepsTrack, "engine steps");
  add_kernels(log.kernels);
  double last_s = 0;
  for (const StepEntry& step : log.steps) {
    add_step(step);
    last_s = std::max(last_s, step.end_s);
  }
  for (const RequestEntry& entry : log.requests) {
    add_request(entry);
    last_s = std::max(last_s, end_of(entry));
  }
  ++run_;
  start_s_ += last_s + kBetweenRuns_s;
}

void TraceWriter::finish() {
  file_.write("\n]}\n");
  file_.commit();
}

}  // namespace reprise::experiments::serving
