#include "server/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <sstream>
#include <vector>

namespace reprise::server {
namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;

double seconds(int64_t from_ns, int64_t to_ns) {
  return std::max<double>(0.0, static_cast<double>(to_ns - from_ns) * 1e-9);
}

const std::vector<double> kLatency_s = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                        0.5,   1,      2.5,   5,    10,    30,   60,  120};
const std::vector<double> kPerToken_s = {0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                         0.075,  0.1,    0.15,  0.2,    0.3,   0.5,  1,     2.5};

}  // namespace

struct Metrics::Families {
  prometheus::Registry registry;

  prometheus::Family<Counter>& counters(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  }
  Counter& counter(const char* name, const char* help) { return counters(name, help).Add({}); }
  prometheus::Family<Gauge>& gauges(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
  }
  Gauge& gauge(const char* name, const char* help) { return gauges(name, help).Add({}); }
  Histogram& histogram(const char* name, const char* help, const std::vector<double>& bounds) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, bounds);
  }

  prometheus::Family<Counter>& requests =
      counters("reprise_requests_total", "Requests that ended, by how");
  prometheus::Family<Counter>& answers =
      counters("reprise_http_answers_total", "HTTP answers, by status");
  Counter& prompt_tokens =
      counter("reprise_prompt_tokens_total", "Tokens of the prompts of requests that ended");
  Counter& cached_tokens = counter("reprise_cached_prompt_tokens_total",
                                   "Of these, tokens whose states were found in the cache");
  Counter& generated = counter("reprise_generated_tokens_total", "Tokens generated");
  Counter& preemptions =
      counter("reprise_preemptions_total", "Times a request gave back its cache for others");
  Counter& steps = counter("reprise_steps_total", "Steps of the engine");
  Counter& prefill_rows =
      counter("reprise_prefill_rows_total", "Rows computed for prompts, and after preemptions");
  Counter& decode_rows = counter("reprise_decode_rows_total", "Rows computed for generated tokens");
  Gauge& waiting = gauge("reprise_requests_waiting", "Requests in the queue");
  Gauge& running = gauge("reprise_requests_running", "Requests in the batch");
  Gauge& open = gauge("reprise_http_connections", "Open connections");
  prometheus::Family<Gauge>& kv = gauges("reprise_kv_cache_bytes", "Keys and values");
  Gauge& kv_used = kv.Add({{"state", "used"}});
  Gauge& kv_total = kv.Add({{"state", "total"}});
  Histogram& step_time =
      histogram("reprise_step_seconds", "Time of a step of the engine", kLatency_s);
  Histogram& queue_time = histogram(
      "reprise_queue_seconds", "From a request's arrival to its place in the batch", kLatency_s);
  Histogram& first_token = histogram("reprise_time_to_first_token_seconds",
                                     "From a request's arrival to its first token", kLatency_s);
  Histogram& per_token =
      histogram("reprise_time_per_output_token_seconds",
                "From the first token to the last, for each token after the first", kPerToken_s);
  Histogram& whole =
      histogram("reprise_request_seconds", "From a request's arrival to its end", kLatency_s);
};

std::string Metrics::absence() { return ""; }

Metrics::Metrics() : families_(std::make_unique<Families>()) {}
Metrics::~Metrics() = default;

void Metrics::step(const engine::StepReport& report) {
  Families& f = *families_;
  f.preemptions.Increment(report.preempted);
  if (report.prefill_tokens + report.decode_tokens == 0) return;  // the step computed nothing
  f.steps.Increment();
  f.prefill_rows.Increment(report.prefill_tokens);
  f.decode_rows.Increment(report.decode_tokens);
  f.step_time.Observe(seconds(report.start_ns, report.end_ns));
}

void Metrics::standing(int64_t waiting, int64_t running, int64_t used_bytes, int64_t total_bytes) {
  Families& f = *families_;
  f.waiting.Set(static_cast<double>(waiting));
  f.running.Set(static_cast<double>(running));
  f.kv_used.Set(static_cast<double>(used_bytes));
  f.kv_total.Set(static_cast<double>(total_bytes));
}

void Metrics::request(const std::string& outcome, const engine::TokenEvent& last,
                      int64_t prompt_tokens, int64_t generated_tokens) {
  Families& f = *families_;
  const engine::RequestTimes& times = last.times;
  f.requests.Add({{"outcome", outcome}}).Increment();
  f.generated.Increment(static_cast<double>(generated_tokens));
  if (times.admitted == engine::kNotYet) return;  // nothing was computed
  f.prompt_tokens.Increment(static_cast<double>(prompt_tokens));
  f.cached_tokens.Increment(static_cast<double>(last.cached_tokens));
  f.queue_time.Observe(seconds(times.intended, times.admitted));
  // A request for its prompt alone is complete without a token. An answer that ends with a stop
  // text is complete, though cancelled in the engine.
  const bool is_complete = outcome == "stop" || outcome == "length";
  if (times.first_token != engine::kNotYet)
    f.first_token.Observe(seconds(times.intended, times.first_token));
  else if (!is_complete)
    return;
  if (times.done == engine::kNotYet) return;
  f.whole.Observe(seconds(times.intended, times.done));
  if (is_complete && generated_tokens > 1)  // else `done` may be long after the last token
    f.per_token.Observe(seconds(times.first_token, times.done) /
                        static_cast<double>(generated_tokens - 1));
}

void Metrics::answer(int status) {
  families_->answers.Add({{"status", std::to_string(status)}}).Increment();
}

void Metrics::connections(int64_t open) { families_->open.Set(static_cast<double>(open)); }

std::string Metrics::text() const {
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families_->registry.Collect());
  return out.str();
}

}  // namespace reprise::server
