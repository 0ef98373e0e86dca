#include "experiments/serving/log_check.h"

#include <cmath>

#include "core/base/error.h"
#include "experiments/serving/latency.h"

namespace reprise::experiments::serving {
namespace {

// Tolerance in seconds: a clock's nanoseconds in 64 bits and its seconds in a double differ by
// less.
constexpr double kRounding_s = 1e-6;

template <typename... Args>
[[noreturn]] void refuse(const RequestEntry& entry, fmt::format_string<Args...> format,
                         Args&&... args) {
  raise("request {}: {}. The figures of this run cannot be trusted.", entry.index,
        fmt::format(format, std::forward<Args>(args)...));
}

// Checks that no time comes before the previous one. Times that did not happen are left out.
class Order {
 public:
  explicit Order(const RequestEntry& entry) : entry_(entry), last_s_(entry.intended_s) {
    if (!std::isfinite(last_s_)) refuse(entry, "it was intended at {} s", last_s_);
  }
  void then(const char* what, double time_s) {
    if (!std::isfinite(time_s)) refuse(entry_, "{} at {} s", what, time_s);
    if (time_s < 0) return;
    if (time_s < last_s_ - kRounding_s)
      refuse(entry_, "{} at {:.6f} s, before it was {} at {:.6f} s", what, time_s, before_,
             last_s_);
    last_s_ = time_s;
    before_ = what;
  }

 private:
  const RequestEntry& entry_;
  double last_s_;
  const char* before_ = "intended";
};

void check_order(const RequestEntry& entry) {
  Order order(entry);
  order.then("sent", entry.sent_s);
  order.then("admitted", entry.admitted_s);
  for (const double time_s : entry.token_s) {
    if (time_s < 0) refuse(entry, "a token at {:.6f} s, before the run began", time_s);
    order.then("given a token", time_s);
  }
  order.then("done", entry.done_s);
}

void check_tokens(const RequestEntry& entry) {
  const int64_t tokens = entry.generated();
  const bool is_served = entry.outcome == Outcome::kServed;
  if (entry.prompt_tokens < 1 || entry.wanted_tokens < 1)
    refuse(entry, "{} prompt tokens, {} to generate", entry.prompt_tokens, entry.wanted_tokens);
  if (is_served ? tokens != entry.wanted_tokens : tokens > entry.wanted_tokens)
    refuse(entry, "{} tokens came, {} were asked for", tokens, entry.wanted_tokens);
  if (!entry.tokens.empty() && static_cast<int64_t>(entry.tokens.size()) != tokens)
    refuse(entry, "{} tokens, {} times of tokens", entry.tokens.size(), tokens);
  if (entry.cached_tokens > entry.prompt_tokens)
    refuse(entry, "{} tokens cached of a prompt of {}", entry.cached_tokens, entry.prompt_tokens);
  if (!is_served && entry.reason.empty()) refuse(entry, "it was not served, and nothing says why");
}

void check_latency(const RequestEntry& entry) {
  if (entry.sent_s < 0 || entry.done_s < 0)
    refuse(entry, "served, but sent at {} s and done at {} s", entry.sent_s, entry.done_s);
  const Latency latency = latency_of(entry);
  if (latency.ttft_s <= 0 || latency.ttft_s > latency.e2e_s)
    refuse(entry, "a TTFT of {} s, an E2E of {} s", latency.ttft_s, latency.e2e_s);
  double gaps_s = 0;
  for (size_t i = 1; i < entry.token_s.size(); ++i)
    gaps_s += entry.token_s[i] - entry.token_s[i - 1];
  const double rest_s = latency.e2e_s - latency.ttft_s;
  // Each addition rounds by half a unit in the last place of the largest time.
  const double rounding_s =
      1e-15 * entry.token_s.back() * static_cast<double>(entry.token_s.size());
  if (std::abs(gaps_s - rest_s) > kRounding_s + rounding_s)
    refuse(entry, "gaps of {} s between tokens, E2E - TTFT is {} s", gaps_s, rest_s);
}

}  // namespace

void check_log(const RequestLog& log, int64_t sent, bool has_gaps) {
  int64_t least = 0;
  for (const RequestEntry& entry : log.requests) {
    if (has_gaps ? entry.index < least : entry.index != least)
      raise("the log has request {} where request {} belongs: one is missing, or there twice",
            entry.index, least);
    least = entry.index + 1;
  }
  if (static_cast<int64_t>(log.requests.size()) != sent)
    raise("{} requests were sent, the log has {}", sent, log.requests.size());
  for (const RequestEntry& entry : log.requests) {
    check_order(entry);
    check_tokens(entry);
    if (entry.outcome == Outcome::kServed) check_latency(entry);
  }
}

}  // namespace reprise::experiments::serving
