#include "experiments/serving/run.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/random.h"
#include "experiments/framework/kind.h"
#include "experiments/serving/load_driver.h"
#include "experiments/serving/log_check.h"
#include "workloads/random_tokens.h"

namespace reprise::experiments::serving {
namespace {

void warm_up(Target& target, const RunOptions& options, const Clock& clock) {
  if (options.warmup.empty()) return;
  const workloads::ArrivalSchedule at_once = {.intended_s =
                                                  std::vector<double>(options.warmup.size(), 0.0)};
  const auto draw = [&](int64_t index) { return options.warmup[static_cast<size_t>(index)]; };
  const DriveResult warmed =
      drive(target, draw, at_once,
            {.growth = {.windows = 0}, .most_drain_s = options.most_drain_s, .stop = options.stop},
            clock);
  for (const RequestEntry& entry : warmed.log.requests)
    if (entry.outcome != Outcome::kServed)
      raise("warming up: request {} of {}: {}", entry.index, options.warmup.size(), entry.reason);
}

void prime(Target& target, const workloads::RequestSource& source, const RunOptions& options,
           const Clock& clock) {
  for (const workloads::DeclaredPrefix& prefix : source.prefixes()) target.declare_prefix(prefix);
  TargetReport report;
  while (target.has_work()) {
    if (options.stop != nullptr && *options.stop) throw Interrupted{};
    target.advance(clock.now_s() + 0.1, report);
    report = {};
  }
}

void check_reuse(const RequestLog& log, const workloads::RequestSource& source,
                 const RunOptions& options) {
  const Reuse reuse = reuse_of(log, source, options.reuse);
  if (reuse.untold >= 0)
    raise(
        "request {}: the server does not tell how many tokens of its prompt were cached, so "
        "that their number cannot be asserted. Leave the bounds out.",
        reuse.untold);
  if (reuse.cached_tokens < reuse.bounds.least || reuse.cached_tokens > reuse.bounds.most)
    raise(
        "{} prompt tokens were found in the cache, {} to {} were expected: what was measured is "
        "not what was meant to be measured",
        reuse.cached_tokens, reuse.bounds.least, reuse.bounds.most);
}

}  // namespace

RunResult run(Target& target, const workloads::RequestSource& source,
              const workloads::ArrivalSchedule& schedule, const RunOptions& options,
              const Clock& clock) {
  REPRISE_CHECK(std::ssize(schedule.intended_s) == source.size(), "{} times, {} requests",
                schedule.intended_s.size(), source.size());
  RunResult result;
  target.flush();
  warm_up(target, options, clock);
  result.was_flushed = target.flush();
  if (options.primes) {
    const double begin_s = clock.now_s();
    prime(target, source, options, clock);
    result.prime_s = clock.now_s() - begin_s;
  }
  if (options.on_start) options.on_start();
  DriveResult driven = drive(
      target, [&](int64_t index) { return source.request(index); }, schedule,
      {.growth = options.growth,
       .most_drain_s = options.most_drain_s,
       .stop = options.stop,
       .keeps_gaps = options.keeps_gaps,
       .width = options.width},
      clock);
  result.log = std::move(driven.log);
  result.stop_reason = std::move(driven.stop_reason);
  result.dropped = source.dropped();
  result.own_answers = driven.own_answers;
  result.invented_answers = driven.invented_answers;
  result.width = options.width;
  result.looks = std::move(driven.looks);
  const bool is_whole = result.stop_reason.empty() && !is_narrow(result.looks);
  check_log(result.log, is_whole ? source.size() : std::ssize(result.log.requests),
            /*has_gaps=*/!is_whole && schedule.is_of_sessions());
  if (options.reuse && result.stop_reason.empty()) check_reuse(result.log, source, options);
  ValidityRules rules = options.rules;
  rules.is_open_loop = schedule.most_in_flight == 0;
  result.verdict = judge(result.log, rules, result.stop_reason);
  if (!result.stop_reason.empty()) return result;
  result.steady = steady_state(result.log);
  if (result.steady && !result.steady->is_found)
    result.verdict.reservations.emplace_back(kNoSteadyState);
  if (options.width.is_set() && !is_narrow(result.looks))
    result.verdict.reservations.push_back(
        fmt::format("its last request came before {} was known within {:g} of its value",
                    options.width.latency, options.width.width));
  return result;
}

std::vector<workloads::ServingRequest> unrelated_requests(const workloads::RequestSource& source,
                                                          int64_t count, int32_t vocab,
                                                          uint64_t seed) {
  // The number of a random stream that no request of the source uses: requests use their own
  // numbers.
  constexpr uint64_t kWarmUp = ~uint64_t{0};
  const workloads::RandomTokens tokens({.vocab = vocab, .seed = random_bits(seed, kWarmUp, 0)});
  std::vector<workloads::ServingRequest> requests;
  for (int64_t i = 0; i < std::min(count, source.size()); ++i) {
    const auto lengths = source.lengths(i);
    requests.push_back(
        {.prompt = tokens.prompt(i, lengths.prompt), .output_tokens = lengths.output});
  }
  return requests;
}

}  // namespace reprise::experiments::serving
