// Tests how the requests are found to which two runs gave different tokens, and how it is judged
// whether near ties explain the difference.
#include "experiments/kinds/serving/serving_agreement.h"

#include <gtest/gtest.h>

#include "experiments/kinds/serving/serving_axes.h"
#include "experiments/kinds/shared/group_ties.h"
#include "tests/experiments/kinds/shared/kind_on_tiny_model.h"
#include "tests/support/json.h"
#include "tests/support/measured.h"

namespace reprise::experiments {
namespace {

using serving::Outcome;
using serving::RequestLog;

RequestLog log_of(const std::vector<std::vector<int32_t>>& tokens) {
  RequestLog log;
  for (const auto& one : tokens)
    log.requests.push_back({.index = std::ssize(log.requests), .tokens = one});
  return log;
}

TEST(Partings, AreTheFirstTokensThatDiffer) {
  const RequestLog first = log_of({{1, 2, 3}, {4, 5}, {}, {6}});
  EXPECT_TRUE(partings_of(first, first).empty());
  const std::vector<Parting> found = partings_of(log_of({{1, 7, 8}, {4, 5}, {}, {9}}), first);
  ASSERT_EQ(found.size(), 2);
  EXPECT_EQ(found[0].request, 0);
  EXPECT_EQ(found[0].common, std::vector<int32_t>({1}));
  EXPECT_EQ(found[0].first_token, 2);
  EXPECT_EQ(found[0].token, 7);
  EXPECT_EQ(found[1].request, 3);
  EXPECT_TRUE(found[1].common.empty());
}

TEST(Partings, AreOfRequestsThatBothServed) {
  RequestLog first = log_of({{1}, {2}, {3}}), other = log_of({{4}, {}, {6}});
  first.requests[0].outcome = Outcome::kFailed;
  other.requests[1].outcome = Outcome::kRefused;
  const std::vector<Parting> found = partings_of(other, first);
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0].request, 2);
}

// If sessions were given up, the log lacks some requests in between.
TEST(Partings, PairRequestsByTheirNumbers) {
  const RequestLog whole = log_of({{1}, {2}, {3, 5}, {4}});
  RequestLog gapped = log_of({{1}, {2}, {3, 6}, {4}});
  gapped.requests.erase(gapped.requests.begin() + 1);
  for (const auto& [log, first] : {std::pair(gapped, whole), std::pair(whole, gapped)}) {
    const std::vector<Parting> found = partings_of(log, first);
    ASSERT_EQ(found.size(), 1);
    EXPECT_EQ(found[0].request, 2);
    EXPECT_EQ(found[0].common, std::vector<int32_t>({3}));
  }
}

class ServingAgreement : public KindOnTinyModel {
 protected:
  [[nodiscard]] Group group(const char* dtype, int64_t judged) const {
    return group_of({{"kind", "serving"},
                     {"dtypes", {dtype}},
                     {"methods", {"paged"}},
                     {"workload", "grid"},
                     {"settings",
                      {{"shared_tokens", 0},
                       {"user_tokens", 40},
                       {"output_tokens", 4},
                       {"requests", 3},
                       {"prefill_chunk", 16},
                       {"judged_partings", judged}}}});
  }

  static std::unique_ptr<workloads::RequestSource> source_of(const Group& given) {
    return request_source_of(given, given.axes_as<ServingAxes>().source, /*vocab=*/256);
  }

  // The tokens that tie most and least closely with `token` after the prompt of `request`, by their
  // gaps.
  struct Rivals {
    int32_t nearest = 0, farthest = 0;
  };
  Rivals rivals(const Group& given, int64_t request, int32_t token) {
    Bench bench(context_);
    GroupTies ties(bench, given, 16);
    const std::vector<int32_t> prompt = source_of(given)->request(request).prompt;
    const auto gap = [&](int32_t other) { return ties.judge(prompt, token, other).gap; };
    Rivals found{.nearest = token == 0 ? 1 : 0, .farthest = token == 0 ? 1 : 0};
    for (int32_t other = 0; other < 256; ++other) {
      if (other == token) continue;
      if (gap(other) < gap(found.nearest)) found.nearest = other;
      if (gap(other) > gap(found.farthest)) found.farthest = other;
    }
    return found;
  }

  Measurement agreement(const Group& given, const RequestLog& log, const RequestLog& first) {
    Bench bench(context_);
    Measurement out;
    GroupTies ties(bench, given, 16);
    std::vector<Parting> partings = add_agreement(log, first, out);
    add_judgement(ties, given, *source_of(given), std::move(partings), out);
    return out;
  }
};

TEST_F(ServingAgreement, TellsANearTieFromAMistake) {
  for (const char* dtype : {"bf16", "f32"}) {
    const Group given = group(dtype, 8);
    const Rivals of_5 = rivals(given, 1, 5);
    const RequestLog first = log_of({{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 9, 9, 9}});
    const auto judged = [&](int32_t token) {
      return agreement(given, log_of({{1, 2, 3, 4}, {token, 6, 7, 8}, {9, 9, 9, 9}}), first);
    };
    const Measured mistake = measured_json(judged(of_5.farthest));
    EXPECT_NEAR(mistake.metrics.at("equal_requests_ratio").at("value").get<double>(), 2.0 / 3,
                1e-12);
    EXPECT_EQ(mistake.metrics.at("unexplained_requests").at("value"), 1) << dtype;
    const Json& shown = mistake.answers["partings"];
    ASSERT_EQ(shown.size(), 1);
    EXPECT_EQ(shown[0]["request"], 1);
    EXPECT_EQ(shown[0]["token"], of_5.farthest);
    EXPECT_GT(shown[0]["deviation"].get<double>(), 0) << dtype;
    EXPECT_GT(shown[0]["gap"], shown[0]["deviation"]);
    if (dtype == std::string("bf16")) {  // the nearest of 256 logits is as near as bf16 rounds
      EXPECT_EQ(judged(of_5.nearest).metrics.at("unexplained_requests").value, 0);
    }
  }
}

// Two runs of sessions, of which both lack the first request.
TEST_F(ServingAgreement, JudgesTheRightRequestOfARunWithGaps) {
  RequestLog first = log_of({{}, {2, 2, 2, 2}, {3, 3, 3, 3}}), other = first;
  other.requests[2].tokens = {3, 3, 3, 7};
  for (RequestLog* log : {&first, &other}) log->requests.erase(log->requests.begin());
  const Measured out = measured_json(agreement(group("f32", 8), other, first));
  ASSERT_EQ(out.answers["partings"].size(), 1);
  EXPECT_EQ(out.answers["partings"][0]["request"], 2);
  EXPECT_EQ(out.answers["partings"][0]["token_index"], 3);
}

TEST_F(ServingAgreement, JudgesAsManyAsItIsTold) {
  const RequestLog first = log_of({{1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}});
  const RequestLog other = log_of({{1, 1, 1, 9}, {2, 8, 2, 2}, {3, 3, 7, 3}});
  for (const int64_t judged : {0, 2, 8}) {
    const Measured out = measured_json(agreement(group("f32", judged), other, first));
    EXPECT_EQ(out.metrics.at("equal_requests_ratio").at("value"), 0);
    EXPECT_EQ(out.metrics.contains("unexplained_requests"), judged > 0);
    EXPECT_EQ(out.answers.contains("partings") ? out.answers["partings"].size() : 0,
              static_cast<size_t>(std::min<int64_t>(judged, 3)));
  }
  RequestLog none = first;
  for (auto& request : none.requests) request.outcome = Outcome::kFailed;
  EXPECT_TRUE(agreement(group("f32", 8), none, first).metrics.empty());
}

}  // namespace
}  // namespace reprise::experiments
