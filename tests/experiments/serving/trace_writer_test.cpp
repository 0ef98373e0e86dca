// Tests the trace events of runs in Chrome's format: spans of requests and steps, and counters.
#include "experiments/serving/trace_writer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "tests/support/json.h"

namespace reprise::experiments::serving {
namespace {

class TraceWriterTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  [[nodiscard]] Json events() const { return Json::parse(std::ifstream(path_))["traceEvents"]; }
  // The events of a run with that name, in their order.
  [[nodiscard]] Json named(const std::string& name, int64_t run) const {
    Json found = Json::array();
    for (const Json& event : events())
      if (event["name"] == name && event["pid"] == run) found.push_back(event);
    return found;
  }

  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("reprise_trace_" + std::to_string(::getpid()));
};

RequestLog sample_log() {
  RequestLog log;
  log.requests.push_back({.index = 0,
                          .intended_s = 1,
                          .admitted_s = 1.5,
                          .token_s = {2, 2.25, 3},
                          .done_s = 3,
                          .prompt_tokens = 7,
                          .cached_tokens = 4,
                          .preemptions = 1});
  log.requests.push_back({.index = 1, .intended_s = 1.25, .token_s = {4}, .done_s = 4});
  log.requests.push_back({.index = 2,
                          .intended_s = 2,
                          .done_s = 2.5,
                          .outcome = Outcome::kFailed,
                          .reason = "status 500: \"no\"\n"});
  log.steps.push_back({.start_s = 1.5,
                       .end_s = 2,
                       .prefill_tokens = 7,
                       .batch = 1,
                       .waiting = 2,
                       .read_bytes = 1'500'000,
                       .kv_bytes = 3'000'000});
  log.steps.push_back({.start_s = 2, .end_s = 2.25, .decode_tokens = 1, .batch = 1});
  return log;
}

TEST_F(TraceWriterTest, RequestsHaveTheirSpansAndStepsTheirCounts) {
  TraceWriter writer(path_);
  writer.add("a \"run\"", sample_log());
  writer.finish();
  EXPECT_EQ(named("process_name", 0)[0]["args"]["name"], "a \"run\"");
  const auto span = [&](const std::string& name, size_t i) {
    const Json event = named(name, 0).at(i);
    return std::vector<double>{event["ts"], event["dur"], event["tid"]};
  };
  EXPECT_EQ(span("queued", 0), (std::vector<double>{1e6, 0.5e6, 2}));
  EXPECT_EQ(span("prefill", 0), (std::vector<double>{1.5e6, 0.5e6, 2}));
  EXPECT_EQ(span("decode", 0), (std::vector<double>{2e6, 1e6, 2}));
  EXPECT_EQ(named("prefill", 0)[0]["args"]["cached_tokens"], 4);
  // For the other request, the server does not tell the admission, and there is only one token.
  EXPECT_EQ(named("queued", 0).size(), 1u);
  EXPECT_EQ(span("prefill", 1), (std::vector<double>{1.25e6, 2.75e6, 3}));
  EXPECT_EQ(named("decode", 0).size(), 1u);
  EXPECT_EQ(span("no answer", 0), (std::vector<double>{2e6, 0.5e6, 4}));
  EXPECT_EQ(named("no answer", 0)[0]["args"]["reason"], "status 500: \"no\"\n");
  EXPECT_EQ(span("step with prefill", 0), (std::vector<double>{1.5e6, 0.5e6, 0}));
  EXPECT_EQ(span("step", 0), (std::vector<double>{2e6, 0.25e6, 0}));
  EXPECT_EQ(named("step with prefill", 0)[0]["args"]["kv_read_mb"], 1.5);
  EXPECT_EQ(named("requests", 0)[0]["args"], Json({{"running", 1}, {"waiting", 2}}));
  EXPECT_EQ(named("KV cache [MB]", 0)[0]["args"]["in use"], 3.0);
}

// Viewers sort by this number if there is one, otherwise by name.
TEST_F(TraceWriterTest, RequestsStandInTheirOrderBelowTheSteps) {
  TraceWriter writer(path_);
  writer.add("a", sample_log());
  writer.finish();
  const Json orders = named("thread_sort_index", 0);
  ASSERT_EQ(orders.size(), 4u);
  EXPECT_EQ(named("thread_name", 0)[0]["args"]["name"], "engine steps");
  for (size_t i = 0; i < orders.size(); ++i)
    EXPECT_EQ(orders[i]["args"]["sort_index"], orders[i]["tid"]);
  EXPECT_EQ(orders[3]["tid"], 4);
}

// The time between the tokens before and after a preemption is not decoding, and no span is empty.
TEST_F(TraceWriterTest, PreemptionsInterruptTheDecoding) {
  RequestLog log;
  log.requests.push_back({.admitted_s = 0,
                          .token_s = {1, 2, 3, 4, 5},
                          .preemptions = 3,
                          .preempted_before = {0, 1, 3}});
  TraceWriter writer(path_);
  writer.add("a", log);
  writer.finish();
  std::vector<std::string> spans;
  for (const Json& event : events())
    if (event["ph"] == "X")
      spans.push_back(fmt::format("{} {} {}", event["name"].get<std::string>(),
                                  event["ts"].get<double>() * 1e-6,
                                  event["dur"].get<double>() * 1e-6));
  EXPECT_EQ(spans, (std::vector<std::string>{"prefill 0 1", "preempted 1 1", "decode 2 1",
                                             "preempted 3 1", "decode 4 1"}));
}

TEST_F(TraceWriterTest, KernelsOfTheRunHaveATrack) {
  RequestLog log = sample_log();
  log.kernels = {{"attention", 1.5, 1.75}};
  TraceWriter writer(path_);
  writer.add("a", log);
  writer.finish();
  ASSERT_EQ(named("attention", 0).size(), 1u);
  const Json attention = named("attention", 0)[0];
  EXPECT_EQ(attention["ts"], 1.5e6);
  EXPECT_EQ(attention["dur"], 0.25e6);
  EXPECT_EQ(attention["tid"], 1);
}

TEST_F(TraceWriterTest, RunsStandOneAfterAnother) {
  TraceWriter writer(path_);
  writer.add("first", sample_log());  // ends at 4 s
  writer.add("none", {});
  writer.add("third", sample_log());
  writer.finish();
  EXPECT_EQ(named("process_name", 1)[0]["args"]["name"], "none");
  EXPECT_EQ(named("queued", 2)[0]["ts"], 7e6);  // 1 s after 4 s, and two pauses of a second
}

TEST_F(TraceWriterTest, NothingHasItsNameBeforeItIsWhole) {
  {
    TraceWriter writer(path_);
    writer.add("a", sample_log());
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_THROW(TraceWriter("/nowhere/trace.json"), Error);
  TraceWriter empty(path_);
  empty.finish();
  EXPECT_EQ(events(), Json::array());
}

}  // namespace
}  // namespace reprise::experiments::serving
