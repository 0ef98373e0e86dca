// Breaks every invariant of a log, one at a time.
#include "experiments/serving/log_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/base/error.h"
#include "experiments/serving/latency.h"
#include "tests/experiments/serving/sample_log.h"

namespace reprise::experiments::serving {
namespace {

std::string message(const RequestLog& log, int64_t sent, bool has_gaps = false) {
  try {
    check_log(log, sent, has_gaps);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(LogCheck, SoundLogsPass) {
  RequestLog log = served_log(5);
  EXPECT_EQ(message(log, 5), "");
  EXPECT_EQ(message({}, 0), "");
  log.requests.push_back(failed_entry(5, 6, "connection refused"));
  log.requests.push_back(failed_entry(6, 7, "never sent"));
  log.requests.back().sent_s = -1;
  log.requests[0].tokens = {1, 2, 3};
  log.requests[0].cached_tokens = 10;
  log.requests[0].admitted_s = 1.25;
  EXPECT_EQ(message(log, 7), "");
}

TEST(LogCheck, BrokenEntriesAreNamedWithTheirNumbers) {
  const double nan = std::nan("");
  const std::vector<std::pair<std::function<void(RequestEntry&)>, const char*>> cases = {
      {[](auto& e) { e.token_s[1] = 1.4; }, "given a token at 1.400000 s, before it was given a"},
      {[](auto& e) {
         e.token_s = {1, 1, 1};
       },
       "a TTFT of 0 s"},
      {[](auto& e) { e.sent_s = 0.5; }, "sent at 0.500000 s, before it was intended at 1.000000"},
      {[](auto& e) { e.sent_s = 1.6; }, "before it was sent at 1.6"},
      {[](auto& e) { e.admitted_s = 1.7; }, "before it was admitted at 1.7"},
      {[](auto& e) { e.done_s = 1.9; }, "done at 1.900000 s"},
      {[](auto& e) { e.done_s = -1; }, "done at -1 s"},
      {[](auto& e) { e.token_s.pop_back(); }, "2 tokens came, 3 were asked for"},
      {[](auto& e) { e.token_s.push_back(2); }, "4 tokens came, 3 were asked for"},
      {[](auto& e) { e.token_s.clear(); }, "0 tokens came"},
      {[=](auto& e) { e.token_s[2] = nan; }, "nan"},
      {[=](auto& e) { e.intended_s = nan; }, "nan"},
      {[](auto& e) { e.token_s[0] = -1; }, "before the run began"},
      {[](auto& e) { e.tokens = {1}; }, "1 tokens, 3 times"},
      {[](auto& e) { e.cached_tokens = 11; }, "11 tokens cached of a prompt of 10"},
      {[](auto& e) { e.prompt_tokens = 0; }, "0 prompt tokens"},
      {[](auto& e) { e.outcome = Outcome::kRefused; }, "nothing says why"},
  };
  for (const auto& [spoil, expected] : cases) {
    RequestLog log = served_log(3);
    spoil(log.requests[0]);
    const std::string found = message(log, 3);
    EXPECT_NE(found.find(expected), std::string::npos) << expected << " not in: " << found;
    EXPECT_NE(found.find("request 0"), std::string::npos) << found;
  }
}

TEST(LogCheck, RequestsThatAreMissingOrThereTwiceAreFound) {
  RequestLog log = served_log(4);
  EXPECT_NE(message(log, 5).find("5 requests were sent, the log has 4"), std::string::npos);
  RequestLog gap = log, twice = log;
  gap.requests.erase(gap.requests.begin() + 1);
  EXPECT_NE(message(gap, 4).find("has request 2 where request 1 belongs"), std::string::npos);
  twice.requests[2] = twice.requests[1];
  EXPECT_NE(message(twice, 4).find("has request 1 where request 2 belongs"), std::string::npos);
  // If sessions were given up, requests in between may be missing, but no other faults are allowed.
  EXPECT_EQ(message(gap, 3, /*has_gaps=*/true), "");
  EXPECT_NE(message(gap, 4, /*has_gaps=*/true).find("the log has 3"), std::string::npos);
  EXPECT_NE(message(twice, 4, /*has_gaps=*/true).find("has request 1 where"), std::string::npos);
}

TEST(Latency, CountsFromTheIntendedArrival) {
  RequestEntry entry = served_entry(0, 2, 0.5, 0.25, 3);
  entry.sent_s = 2.4;
  const Latency latency = latency_of(entry);
  EXPECT_DOUBLE_EQ(latency.ttft_s, 0.5);
  EXPECT_DOUBLE_EQ(latency.e2e_s, 1.0);
  EXPECT_DOUBLE_EQ(latency.tpot_s, 0.25);
  EXPECT_DOUBLE_EQ(latency.normalised_s, 1.0 / 3);
  EXPECT_EQ(latency_of(served_entry(0, 2, 0.5, 0.25, 1)).tpot_s, 0);
}

TEST(Latency, AServiceLevelIsKeptWithinAllItsBounds) {
  const RequestEntry entry = served_entry(0, 2, 0.5, 0.25, 3);
  EXPECT_FALSE(Slo{}.is_set());
  EXPECT_TRUE(Slo{}.is_kept_by(entry));
  for (const Slo& kept :
       {Slo{.ttft_s = 0.5}, Slo{.tpot_s = 0.25}, Slo{.e2e_s = 1}, Slo{.normalised_s = 0.34}}) {
    EXPECT_TRUE(kept.is_set());
    EXPECT_TRUE(kept.is_kept_by(entry));
  }
  for (const Slo& broken : {Slo{.ttft_s = 0.49}, Slo{.ttft_s = 1, .tpot_s = 0.24},
                            Slo{.e2e_s = 0.99}, Slo{.normalised_s = 0.33}})
    EXPECT_FALSE(broken.is_kept_by(entry));
  EXPECT_FALSE(Slo{.ttft_s = 100}.is_kept_by(failed_entry(0, 2, "full")));
}

}  // namespace
}  // namespace reprise::experiments::serving
