// A server all of whose times can be computed by hand, on a clock that jumps from event to event.
// It tests the life cycle of runs and the search.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "experiments/serving/clock.h"
#include "experiments/serving/target.h"

namespace reprise::experiments::serving {

class FakeClock final : public Clock {
 public:
  double time_s = 1000;  // no run begins at 0
  [[nodiscard]] double now_s() const override { return time_s; }
};

// A server may keep prompts or answers, which it then need not compute when the prompt comes again.
enum class Keeps : uint8_t { kNothing, kPrompts, kAnswers };

struct SimulatedOptions {
  int64_t lanes = 1;    // requests served at once; the others wait in the order they came
  double first_s = 1;   // from the begin of the service to the first token
  double gap_s = 0.25;  // from token to token
  bool can_flush = true;
  bool tells_cached = true;
  bool reuses = true;       // the server finds the tokens that ServingRequest::shared_tokens counts
  int64_t fail_every = 0;   // every how many requests fail, counted from 1; 0: none
  int64_t lose = -1;        // the number of a request that never ends
  bool tells_late = false;  // reports all tokens of a request at its end
  Keeps keeps = Keeps::kNothing;
  size_t ignored = 0;  // leading tokens that it leaves out when it compares prompts
};

class SimulatedServer final : public Target {
 public:
  SimulatedServer(FakeClock& clock, const SimulatedOptions& options)
      : clock_(clock), options_(options), free_s_(static_cast<size_t>(options.lanes), 0.0) {}

  int64_t flushes = 0;
  std::vector<std::string> declared;
  std::vector<size_t> prompts;                     // their lengths, in the order they came
  std::map<int64_t, std::vector<int32_t>> tokens;  // of each request's prompt

  bool flush() override {
    ++flushes;
    return options_.can_flush;
  }
  void declare_prefix(const workloads::DeclaredPrefix& prefix) override {
    declared.push_back(prefix.name);
    ready_s_ = clock_.time_s + 2;
  }
  void submit(int64_t id, workloads::ServingRequest request, double) override {
    prompts.push_back(request.prompt.size());
    tokens[id] = request.prompt;
    if (id == options_.lose) return;
    auto lane = std::min_element(free_s_.begin(), free_s_.end());
    const double begin_s = std::max(*lane, clock_.time_s);
    const size_t ignored = std::min(options_.ignored, request.prompt.size());
    const bool is_known =
        !known_
             .emplace(request.prompt.begin() + static_cast<int64_t>(ignored), request.prompt.end())
             .second &&
        options_.keeps != Keeps::kNothing;
    double time_s = begin_s + options_.first_s * (is_known ? 0.1 : 1);
    const double gap_s = is_known && options_.keeps == Keeps::kAnswers ? 0 : options_.gap_s;
    const double end_s = time_s + gap_s * static_cast<double>(request.output_tokens - 1);
    if (options_.tells_late) events_.emplace(time_s, TargetEvent{.request = id, .has_begun = true});
    for (int64_t i = 0; i < request.output_tokens; ++i) {
      TargetEvent event{.request = id, .time_s = time_s, .tokens = 1, .token_ids = {7}};
      if (i + 1 == request.output_tokens) end(event, begin_s, request);
      events_.emplace(options_.tells_late ? end_s : time_s, std::move(event));
      if (i + 1 < request.output_tokens) time_s += gap_s;
    }
    *lane = time_s;
    ++under_way_;
  }
  void advance(double until_s, TargetReport& report) override {
    if (!cancelled_.empty()) {
      for (const int64_t id : cancelled_)
        report.events.push_back({.request = id,
                                 .time_s = clock_.time_s,
                                 .is_end = true,
                                 .outcome = Outcome::kCancelled});
      cancelled_.clear();
      under_way_ = 0;
      return;
    }
    if (events_.empty() || events_.begin()->first > until_s) {
      clock_.time_s = std::max(clock_.time_s, until_s);
      return;
    }
    clock_.time_s = events_.begin()->first;
    while (!events_.empty() && events_.begin()->first <= clock_.time_s) {
      if (events_.begin()->second.is_end) --under_way_;
      report.events.push_back(events_.begin()->second);
      events_.erase(events_.begin());
    }
  }
  [[nodiscard]] bool has_work() const override {
    return under_way_ > 0 || clock_.time_s < ready_s_;
  }
  void cancel_all() override {
    for (const auto& [time_s, event] : events_)
      if (event.is_end) cancelled_.push_back(event.request);
    events_.clear();
  }

 private:
  void end(TargetEvent& event, double begin_s, const workloads::ServingRequest& request) {
    event.is_end = true;
    event.admitted_s = begin_s;
    if (options_.tells_cached) event.cached_tokens = options_.reuses ? request.shared_tokens : 0;
    if (options_.fail_every == 0 || ++count_ % options_.fail_every != 0) return;
    event.tokens = 0;
    event.token_ids.clear();
    event.outcome = Outcome::kFailed;
    event.reason = "status 500";
  }

  FakeClock& clock_;
  SimulatedOptions options_;
  std::vector<double> free_s_;  // time at which each lane is free
  std::multimap<double, TargetEvent> events_;
  std::vector<int64_t> cancelled_;
  std::set<std::vector<int32_t>> known_;  // prompts, without the ignored tokens
  double ready_s_ = 0;
  int64_t under_way_ = 0, count_ = 0;
};

// `count` requests whose prompts have `prompt` tokens, of which `shared` are in common, and which
// generate `output` tokens.
class EvenSource final : public workloads::RequestSource {
 public:
  int64_t count = 10, prompt = 8, shared = 4, output = 3;

  [[nodiscard]] int64_t size() const override { return count; }
  [[nodiscard]] workloads::ServingRequest request(int64_t index) const override {
    workloads::ServingRequest request{
        .output_tokens = output, .prefix = 0, .shared_tokens = shared};
    for (int64_t i = 0; i < prompt; ++i)
      request.prompt.push_back(static_cast<int32_t>(i < shared ? i : 100 + index));
    return request;
  }
  [[nodiscard]] Lengths lengths(int64_t) const override { return {prompt, output}; }
  [[nodiscard]] std::vector<workloads::DeclaredPrefix> prefixes() const override {
    return {{"system", request(0).prompt}};
  }
};

}  // namespace reprise::experiments::serving
