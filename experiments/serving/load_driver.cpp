#include "experiments/serving/load_driver.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/base/error.h"
#include "experiments/framework/kind.h"
#include "experiments/serving/send_order.h"

namespace reprise::experiments::serving {
namespace {

// Longest time in seconds that one call of Target::advance() may wait. Ctrl-C and the end of
// most_drain_s are noticed within this time.
constexpr double kMostWait_s = 0.1;

class Driver {
 public:
  Driver(Target& target, const std::function<workloads::ServingRequest(int64_t)>& draw,
         const workloads::ArrivalSchedule& schedule, const DriveOptions& options,
         const Clock& clock)
      : target_(target),
        draw_(draw),
        schedule_(schedule),
        options_(options),
        clock_(clock),
        order_(schedule),
        growth_(options.growth),
        width_(options.width),
        has_begun_(schedule.intended_s.size()) {
    result_.log.requests.reserve(schedule.intended_s.size());
    if (schedule_.is_of_sessions()) result_.log.requests.resize(schedule.intended_s.size());
  }

  DriveResult run() {
    draw_next();
    start_s_ = result_.log.start_s = clock_.now_s();
    while (has_more() || in_flight() > 0) {
      check_stop();
      send_what_is_due();
      draw_next();
      advance(next_look_s());
      if (!result_.stop_reason.empty()) break;
    }
    end_the_rest();
    result_.looks = width_.looks();
    if (!options_.keeps_gaps)  // frees the tokens of sessions that did not reach their last turn
      for (RequestEntry& entry : result_.log.requests) entry.tokens.clear();
    std::erase_if(result_.log.requests, [](const RequestEntry& entry) { return entry.sent_s < 0; });
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool is_closed() const { return schedule_.most_in_flight > 0; }
  [[nodiscard]] double now_s() const { return clock_.now_s() - start_s_; }
  [[nodiscard]] int64_t sent() const { return order_.count_sent(); }
  [[nodiscard]] int64_t in_flight() const { return sent() - done_; }
  [[nodiscard]] bool has_more() const { return !is_enough_ && order_.has_more(); }
  // The request that is sent next; nullopt: a request must end first, or there are no more.
  [[nodiscard]] std::optional<SendOrder::Due> next() const {
    return is_enough_ ? std::nullopt : order_.next();
  }

  void send_what_is_due() {
    while (const std::optional<SendOrder::Due> due = next()) {
      // The due time is added to start_s_, as in the call of advance(), so that rounding cannot
      // make it later than a clock that has advanced exactly to it.
      if (start_s_ + due->time_s > clock_.now_s()) return;
      draw_next();
      send(due->index, is_closed() ? std::max(due->time_s, turn_s(due->index)) : due->time_s);
    }
  }
  // Lower bound on a request's intended time in a closed loop: now. A further turn of a session has
  // no such bound (0), because it is due when its pause is over.
  [[nodiscard]] double turn_s(int64_t index) const {
    return schedule_.is_of_sessions() && !schedule_.waits_for[static_cast<size_t>(index)].empty()
               ? 0
               : now_s();
  }

  // Draws the next request before it is due. A session's further turn was drawn when the turn
  // before it was sent.
  void draw_next() {
    const std::optional<SendOrder::Due> due = next();
    draw(due ? due->index : schedule_.is_of_sessions() || !has_more() ? -1 : sent());
  }
  void draw(int64_t index) {
    if (index >= 0 && !drawn_.contains(index)) drawn_.emplace(index, draw_(index));
  }

  void put_own_answers(workloads::ServingRequest& request) {
    for (const workloads::EarlierAnswer& answer : request.answers) {
      const std::vector<int32_t>& own =
          result_.log.requests[static_cast<size_t>(answer.request)].tokens;
      const bool is_known = std::ssize(own) == answer.tokens;
      if (is_known) std::copy(own.begin(), own.end(), request.prompt.begin() + answer.first);
      ++(is_known ? result_.own_answers : result_.invented_answers);
    }
  }

  // True if a later turn of the session has this answer in its prompt. The turns after a request in
  // flight are drawn already.
  [[nodiscard]] bool is_in_later_turns(int64_t index) const {
    const std::span<const int64_t> next = order_.successors(index);
    return std::any_of(next.begin(), next.end(), [&](int64_t successor) {
      const std::vector<workloads::EarlierAnswer>& answers = drawn_.at(successor).answers;
      return std::any_of(answers.begin(), answers.end(),
                         [&](const auto& answer) { return answer.request == index; });
    });
  }

  // Frees the tokens of a session's answers when its last turn has them in its prompt.
  void free_answers(const workloads::ServingRequest& last_turn) {
    for (const workloads::EarlierAnswer& answer : last_turn.answers)
      result_.log.requests[static_cast<size_t>(answer.request)].tokens = std::vector<int32_t>();
  }

  void send(int64_t index, double intended_s) {
    last_sent_s_ = now_s();
    workloads::ServingRequest request = std::move(drawn_.extract(index).mapped());
    if (schedule_.is_of_sessions()) put_own_answers(request);
    if (!options_.keeps_gaps && order_.successors(index).empty()) free_answers(request);
    RequestEntry entry{.index = index,
                       .intended_s = intended_s,
                       .sent_s = last_sent_s_,
                       .prompt_tokens = std::ssize(request.prompt),
                       .wanted_tokens = request.output_tokens,
                       .outcome = Outcome::kCancelled,
                       .reason = "nothing was heard of it"};
    if (schedule_.is_of_sessions())
      result_.log.requests[static_cast<size_t>(index)] = std::move(entry);
    else
      result_.log.requests.push_back(std::move(entry));
    order_.sent(index);
    target_.submit(index, std::move(request), intended_s + start_s_);
    for (const int64_t successor : order_.successors(index)) draw(successor);
  }

  // Time, by the clock, at which the driver next looks whether a request is due.
  [[nodiscard]] double next_look_s() const {
    const double most = clock_.now_s() + kMostWait_s;
    const std::optional<SendOrder::Due> due = next();
    return due ? std::min(most, start_s_ + due->time_s) : most;
  }

  void advance(double until_s) {
    report_.events.clear();
    report_.steps.clear();
    target_.advance(until_s, report_);
    for (TargetEvent& event : report_.events) take(event);
    for (StepEntry& step : report_.steps) {
      step.start_s -= start_s_;
      step.end_s -= start_s_;
      result_.log.steps.push_back(step);
    }
    if (in_flight() > 0 && report_.events.empty() && !target_.has_work())
      raise("{} requests never ended, and nothing is under way any more", in_flight());
    if (!is_ending_) judge_queue();
  }

  void take(TargetEvent& event) {
    REPRISE_CHECK(event.request >= 0 && event.request < std::ssize(result_.log.requests),
                  "request {}", event.request);
    RequestEntry& entry = result_.log.requests[static_cast<size_t>(event.request)];
    REPRISE_CHECK(entry.done_s < 0, "request {} ended before", event.request);
    if (event.tokens > 0 && event.preemptions > entry.preemptions && options_.keeps_gaps)
      entry.preempted_before.push_back(entry.token_s.size());
    entry.preemptions = std::max(entry.preemptions, event.preemptions);
    if (event.has_begun || event.tokens > 0 || event.is_end) begin(event.request);
    take_tokens(entry, event.tokens, event.time_s - start_s_);
    if (options_.keeps_gaps || is_in_later_turns(event.request))
      entry.tokens.insert(entry.tokens.end(), event.token_ids.begin(), event.token_ids.end());
    if (event.is_end) end(entry, event);
  }

  void begin(int64_t request) {
    const auto index = static_cast<size_t>(request);
    if (!has_begun_[index]) ++begun_;
    has_begun_[index] = true;
  }

  void take_tokens(RequestEntry& entry, int64_t tokens, double time_s) const {
    if (options_.keeps_gaps) {
      entry.token_s.insert(entry.token_s.end(), static_cast<size_t>(tokens), time_s);
      return;
    }
    for (; tokens > 0; --tokens) {
      if (entry.token_s.size() == 2) {
        entry.token_s.pop_back();
        ++entry.unkept_tokens;
      }
      entry.token_s.push_back(time_s);
    }
  }

  void end(RequestEntry& entry, TargetEvent& event) {
    ++done_;
    entry.done_s = event.time_s - start_s_;
    order_.ended(entry.index, entry.done_s);
    entry.outcome = event.outcome;
    entry.reason = std::move(event.reason);
    if (entry.outcome == Outcome::kCancelled && entry.reason.empty())
      entry.reason = "given up with the run";
    if (event.sent_s >= 0) entry.sent_s = event.sent_s - start_s_;
    if (event.admitted_s >= 0) entry.admitted_s = event.admitted_s - start_s_;
    entry.cached_tokens = event.cached_tokens;
    if (event.prompt_tokens > 0) entry.prompt_tokens = event.prompt_tokens;
    entry.reasoning_tokens = event.reasoning_tokens;
    if (width_.observe(entry, now_s())) is_enough_ = true;
  }

  // Gives the run up if its queue only grows, or most_drain_s after its last request was sent.
  void judge_queue() {
    const double now = now_s();
    if (!is_closed() && has_more()) {
      const auto& times = schedule_.intended_s;
      while (due_ < std::ssize(times) && times[static_cast<size_t>(due_)] <= now) ++due_;
      if (growth_.observe(due_, begun_))
        result_.stop_reason = fmt::format(
            "the queue only grew: {} of {} requests that were due still waited for their first "
            "token after {:.1f} s",
            due_ - begun_, due_, now);
    } else if (!has_more() && in_flight() > 0 && now - last_sent_s_ > options_.most_drain_s) {
      result_.stop_reason =
          fmt::format("{} requests had not ended {:.1f} s after the last was sent", in_flight(),
                      now - last_sent_s_);
    }
  }

  void end_the_rest() {
    if (in_flight() == 0) return;
    is_ending_ = true;
    target_.cancel_all();
    while (in_flight() > 0) advance(clock_.now_s() + kMostWait_s);
  }

  void check_stop() {
    if (options_.stop == nullptr || !*options_.stop) return;
    end_the_rest();
    throw Interrupted{};
  }

  Target& target_;
  const std::function<workloads::ServingRequest(int64_t)>& draw_;
  const workloads::ArrivalSchedule& schedule_;
  const DriveOptions& options_;
  const Clock& clock_;
  SendOrder order_;
  QueueGrowth growth_;
  WidthStop width_;
  double start_s_ = 0;
  double last_sent_s_ = 0;  // seconds from the start
  int64_t done_ = 0, due_ = 0;
  std::vector<bool> has_begun_;  // of each request: it has its first token, or ended without one
  int64_t begun_ = 0;            // number of requests that have begun
  bool is_ending_ = false;
  bool is_enough_ = false;                              // the width rule needs no more requests
  std::map<int64_t, workloads::ServingRequest> drawn_;  // drawn and not yet sent
  TargetReport report_;
  DriveResult result_;
};

}  // namespace

DriveResult drive(Target& target, const std::function<workloads::ServingRequest(int64_t)>& draw,
                  const workloads::ArrivalSchedule& schedule, const DriveOptions& options,
                  const Clock& clock) {
  return Driver(target, draw, schedule, options, clock).run();
}

}  // namespace reprise::experiments::serving
