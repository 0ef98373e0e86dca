#include "experiments/kinds/serving/load_reuse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "experiments/serving/latency.h"
#include "results/statistics.h"

namespace reprise::server {
namespace {

namespace serving = experiments::serving;
using serving::RequestEntry;

constexpr int64_t kSpareTokens = 2;  // tokens per request beyond those shared

// Returns the bounds on a request's cached tokens, in the server's tokens. If `has_own_answers`,
// the prompt has the server's own answers to earlier turns, which may be in the cache, too.
serving::ReuseBounds bounds_of(const workloads::ServingRequest& request, const RequestEntry& entry,
                               const SentAs& sent_as, bool has_own_answers) {
  const int64_t sent = std::ssize(request.prompt);
  const int64_t shared = has_own_answers ? std::max(request.shared_tokens, request.session_tokens)
                                         : request.shared_tokens;
  if (sent_as.form == PromptForm::kTokenIds) return {.most = std::min(sent, shared + kSpareTokens)};
  // The server tokenizes the text itself. The shared part may grow a little more than the whole.
  constexpr double kSlack = 1.1;
  const auto grown =
      static_cast<double>(std::max<int64_t>(0, entry.prompt_tokens - sent_as.template_tokens));
  const double most = kSlack * static_cast<double>(shared) * grown / static_cast<double>(sent);
  return {.most = std::min(entry.prompt_tokens,
                           sent_as.template_tokens + kSpareTokens + static_cast<int64_t>(most))};
}

struct Told {
  std::string by = "nobody";
  double cached_tokens = 0;
  // Prompt tokens that the counters have for each one in the log. It is above 1 if the answers do
  // not report how many tokens the server made of a text.
  double growth = 1;
  std::string why_not;  // the reason if `by` is "nobody"
};

Told told(const serving::Reuse& reuse, const CountersAround& counters, int64_t other_tokens,
          const SentAs& sent_as, bool all_served) {
  if (reuse.prompt_tokens == 0) return {.why_not = "no request was served"};
  const bool is_in_answers = reuse.untold < 0;
  if (!is_in_answers && (!counters.before || !counters.after))
    return {.why_not =
                "neither the server's answers nor its /metrics tell how many prompt tokens "
                "it found in its cache"};
  if (sent_as.template_tokens < 0)
    return {.why_not = "the server does not tell how many tokens its chat template adds"};
  if (is_in_answers)
    return {.by = "answers", .cached_tokens = static_cast<double>(reuse.cached_tokens)};
  if (!all_served) return {.why_not = "the server's counters include requests that failed"};
  const double counted = counters.after->prompt_tokens - counters.before->prompt_tokens;
  const double cached = counters.after->cached_tokens - counters.before->cached_tokens;
  const auto sent = static_cast<double>(reuse.prompt_tokens + other_tokens);
  // Servers may put a token before each prompt. A server that tokenizes the decoded text itself may
  // count more or fewer tokens than were decoded.
  const double slack = sent_as.form == PromptForm::kTokenIds ? 1.02 : 4.0 / 3;
  if (counted < 0 || cached < 0) return {.why_not = "the server started anew during the run"};
  if (counted > slack * sent || counted < sent / slack)
    return {.why_not = fmt::format(
                "the server's counters grew by {:.0f} prompt tokens where {:.0f} were sent: {}",
                counted, sent,
                counted < sent ? "they do not count all prompts"
                : sent_as.form == PromptForm::kTokenIds
                    ? "it had others to serve"
                    : "it had others to serve, or makes many more tokens of a text")};
  return {.by = "counters",
          .cached_tokens = cached,
          .growth = sent_as.form == PromptForm::kTokenIds ? 1.0 : std::max(1.0, counted / sent)};
}

double median_ttft_s(std::span<const RequestEntry* const> requests) {
  std::vector<double> ttft_s;
  for (const RequestEntry* entry : requests) ttft_s.push_back(serving::latency_of(*entry).ttft_s);
  std::sort(ttft_s.begin(), ttft_s.end());
  return results::quantile(ttft_s, 0.5);
}

// Share of the prompt tokens that were cached; -1 if the server does not report it.
double cached_share(std::span<const RequestEntry* const> requests) {
  int64_t cached = 0, all = 0;
  for (const RequestEntry* entry : requests) {
    if (entry->cached_tokens < 0) return -1;
    cached += entry->cached_tokens;
    all += entry->prompt_tokens;
  }
  return static_cast<double>(cached) / static_cast<double>(std::max<int64_t>(all, 1));
}

}  // namespace

std::string judge_reuse(const workloads::RequestSource& source, const CountersAround& counters,
                        int64_t other_tokens, const SentAs& sent_as, serving::RunResult& result) {
  const serving::Reuse reuse = serving::reuse_of(
      result.log, source, [&](const workloads::ServingRequest& request, const RequestEntry& entry) {
        return bounds_of(request, entry, sent_as, /*has_own_answers=*/result.own_answers > 0);
      });
  const bool all_served = std::all_of(
      result.log.requests.begin(), result.log.requests.end(),
      [](const RequestEntry& entry) { return entry.outcome == serving::Outcome::kServed; });
  const Told found = told(reuse, counters, other_tokens, sent_as, all_served);
  if (found.by == "nobody")
    result.verdict.reservations.push_back("reuse is not observable: " + found.why_not);
  const double most = found.growth * static_cast<double>(reuse.bounds.most);
  if (found.cached_tokens > most)
    result.verdict.reasons.insert(
        result.verdict.reasons.begin(),
        fmt::format("the server found {:.0f} of {} prompt tokens in its cache, but the run's "
                    "requests share at most {:.0f}: it kept prompts of before",
                    found.cached_tokens, reuse.prompt_tokens, most));
  return found.by;
}

std::vector<std::string> changes_within(const serving::RequestLog& log) {
  constexpr size_t kLeastServed = 32;
  constexpr double kSlower = 2, kMoved = 0.2;
  std::vector<const RequestEntry*> served;
  for (const RequestEntry& entry : log.requests)
    if (entry.outcome == serving::Outcome::kServed) served.push_back(&entry);
  if (served.size() < kLeastServed) return {};
  std::sort(served.begin(), served.end(),  // sessions do not send in the log's order
            [](const RequestEntry* a, const RequestEntry* b) { return a->sent_s < b->sent_s; });
  const std::span<const RequestEntry* const> all(served);
  const auto first = all.first(served.size() / 4), last = all.last(served.size() / 4);
  std::vector<std::string> changes;
  const double early_s = median_ttft_s(first), late_s = median_ttft_s(last);
  if (early_s > kSlower * late_s)
    changes.push_back(
        fmt::format("the first quarter's median time to first token is {:.1f} times the last's: "
                    "the server was not warm, or its cache filled",
                    early_s / late_s));
  const double early = cached_share(first), late = cached_share(last);
  if (early >= 0 && late >= 0 && std::abs(late - early) > kMoved)
    changes.push_back(fmt::format(
        "the share of prompt tokens found in the cache moved from {:.2f} in the first quarter to "
        "{:.2f} in the last",
        early, late));
  return changes;
}

}  // namespace reprise::server
