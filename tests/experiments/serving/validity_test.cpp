// Tests each reason for INVALID alone, and how a run that misses its service level is judged.
#include "experiments/serving/validity.h"

#include <gtest/gtest.h>

#include "experiments/serving/queue_growth.h"
#include "tests/experiments/serving/sample_log.h"
#include "tests/support/json.h"

namespace reprise::experiments::serving {
namespace {

// Rules that the sample log of 100 requests meets: its last token comes at 101 s.
ValidityRules rules_for_100() { return {.least_duration_s = 60, .least_requests = 100}; }

std::string reason(const RequestLog& log, const ValidityRules& rules) {
  const Verdict verdict = judge(log, rules);
  EXPECT_EQ(verdict.is_valid(), verdict.reasons.empty());
  EXPECT_LE(verdict.reasons.size(), 1u);
  return verdict.is_valid() ? "" : verdict.reasons.front();
}

TEST(Validity, ARunThatIsLongLargeAndCleanIsValid) {
  const Verdict verdict = judge(served_log(100), rules_for_100());
  EXPECT_TRUE(verdict.is_valid());
  EXPECT_EQ(verdict.fields(),
            (Fields{{"verdict", "VALID"}, {"reasons", Values()}, {"slo", "none"}}));
  EXPECT_DOUBLE_EQ(duration_s(served_log(100)), 101);
  EXPECT_EQ(duration_s({}), 0);
}

TEST(Validity, TooShortAndTooFewAreSaid) {
  ValidityRules rules = rules_for_100();
  rules.least_duration_s = 102;
  EXPECT_EQ(reason(served_log(100), rules), "it lasted 101 s, 102 s are needed");
  EXPECT_EQ(reason(served_log(99), rules_for_100()), "99 requests ended, 100 are needed");
  EXPECT_EQ(judge({}, rules_for_100()).reasons.size(), 2u);
}

TEST(Validity, ALoadThatComesLateIsNotTheOneThatWasAsked) {
  RequestLog log = served_log(100);
  log.requests[3].sent_s += 0.3;
  EXPECT_EQ(reason(log, rules_for_100()), "");  // 1 % of the requests may be late
  log.requests[50].sent_s += 0.2;
  EXPECT_EQ(reason(log, rules_for_100()),
            "2 of 100 requests were sent more than 0.1 s late (the latest 0.3 s): the rate was not "
            "offered");
}

TEST(Validity, ErrorsAreCountedWithTheMostFrequentReason) {
  RequestLog log = served_log(100);
  log.requests.push_back(failed_entry(100, 101, "status 500"));
  log.requests.push_back(failed_entry(101, 102, "timeout"));
  log.requests.push_back(failed_entry(102, 103, "timeout"));
  EXPECT_EQ(reason(log, rules_for_100()), "3 of 103 requests were not served, 2 of them: timeout");
  ValidityRules patient = rules_for_100();
  patient.most_error_share = 0.05;
  EXPECT_EQ(reason(log, patient), "");
}

TEST(Validity, ARunThatWasGivenUpSaysWhyAndItsOpenRequestsDoNotCount) {
  RequestLog log = served_log(100);
  log.requests.push_back(failed_entry(100, 101, "given up with the run"));
  log.requests.back().outcome = Outcome::kCancelled;
  const Verdict verdict = judge(log, rules_for_100(), "the queue only grew");
  EXPECT_EQ(verdict.reasons, std::vector<std::string>{"the queue only grew"});
  EXPECT_EQ(verdict.ended, 100);
}

TEST(Validity, AServiceLevelIsMetMissedOrUndecidedAndARunBeyondItIsValid) {
  ValidityRules rules = rules_for_100();
  rules.slo = {.ttft_s = 0.6, .share = 0.9};
  RequestLog log = served_log(100);
  EXPECT_EQ(judge(log, rules).slo, SloOutcome::kMet);
  for (size_t i = 0; i < 8; ++i)
    for (double& time_s : log.requests[i].token_s) time_s += 0.2;
  for (size_t i = 0; i < 8; ++i) log.requests[i].done_s += 0.2;
  EXPECT_EQ(judge(log, rules).slo, SloOutcome::kUndecided);
  rules.slo.ttft_s = 0.4;
  const Verdict missed = judge(log, rules);
  EXPECT_EQ(missed.slo, SloOutcome::kMissed);
  EXPECT_TRUE(missed.is_valid());
  EXPECT_EQ(missed.over_slo, 100);
  EXPECT_EQ(missed.fields().at("over_slo_allowed"),
            Value(rules.early_stopping().overlatency_allowed(100)));
}

TEST(Validity, RequestsThatHadTheServerToThemselvesAreCounted) {
  ValidityRules rules = rules_for_100();
  EXPECT_EQ(judge(served_log(100), rules).alone, 0) << "there is no service level";
  rules.slo.ttft_s = 0.6;
  RequestLog log = served_log(100);  // each ends when the next one arrives
  EXPECT_EQ(judge(log, rules).alone, 100);
  EXPECT_EQ(judge(log, rules).alone_over_slo, 0);
  for (double& time_s : log.requests[3].token_s) time_s += 0.2;
  log.requests[3].done_s += 0.2;  // 3 and 4 overlap
  EXPECT_EQ(judge(log, rules).alone, 98);
  log.requests[3].done_s += 2;  // now 3 to 6 overlap
  EXPECT_EQ(judge(log, rules).alone, 96);
  rules.slo.ttft_s = 0.4;
  EXPECT_EQ(judge(log, rules).alone_over_slo, 96);
}

TEST(Validity, TooFewToBoundThePercentileIsInvalidButWhereTheyMissItAnyway) {
  ValidityRules rules = rules_for_100();
  rules.slo = {.ttft_s = 0.6};
  EXPECT_EQ(reason(served_log(100), rules),
            "100 requests ended, too few to bound p99: 459 are needed");
  rules.slo.ttft_s = 0.4;
  EXPECT_EQ(reason(served_log(100), rules), "");
  EXPECT_EQ(judge(served_log(100), rules).slo, SloOutcome::kMissed);
}

TEST(Validity, LimitsBelowTheDefaultsAreNamed) {
  const auto said = [](const ValidityRules& rules) {
    return judge(served_log(100), rules).reservations;
  };
  EXPECT_EQ(said({}), std::vector<std::string>());
  EXPECT_EQ(
      said({.least_requests = 20}),
      std::vector<std::string>{"a run is VALID by lowered limits: 20 requests instead of 100"});
  EXPECT_EQ(said({.least_duration_s = 0.5, .least_requests = 20}),
            std::vector<std::string>{"a run is VALID by lowered limits: 20 requests instead of 100 "
                                     "and 0.5 s instead of 60"});
}

TEST(Validity, AQueueThatGrewToTheEndIsSaidUnlessTheLoopIsClosed) {
  RequestLog log = served_log(100);  // one a second; each waits 0.2 s more than the one before
  for (RequestEntry& entry : log.requests) {
    for (double& time_s : entry.token_s) time_s += 0.2 * static_cast<double>(entry.index);
    entry.done_s = entry.token_s.back();
  }
  const Verdict verdict = judge(log, rules_for_100());
  EXPECT_TRUE(verdict.is_valid());
  EXPECT_TRUE(verdict.queue_grew);
  EXPECT_EQ(verdict.reservations, std::vector<std::string>{kQueueGrew});
  EXPECT_EQ(field_of(verdict.fields(), "reservations"), Value(Values{kQueueGrew}));
  ValidityRules closed = rules_for_100();
  closed.is_open_loop = false;
  EXPECT_TRUE(judge(log, closed).reservations.empty());
}

}  // namespace
}  // namespace reprise::experiments::serving
