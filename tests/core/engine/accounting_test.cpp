// Tests what a request's last event and a step's report say about cache, batch and queue.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <map>

#include "core/engine/engine.h"
#include "methods/registry.h"
#include "tests/support/counting_decoder.h"
#include "tests/support/json.h"

namespace reprise::engine {
namespace {

using testing::counting_from;
using testing::CountingDecoder;
using testing::ends_of;

std::vector<int32_t> joined(std::vector<int32_t> text, const std::vector<int32_t>& more) {
  text.insert(text.end(), more.begin(), more.end());
  return text;
}

class Accounting : public ::testing::Test {
 protected:
  Engine make(const char* method, const char* method_options, EngineOptions options = {}) {
    if (options.limits.max_batch == 1) options.limits.max_batch = 4;
    options.limits.max_sequence_tokens = 100;
    options.limits.prefix_tokens = 40;
    return {context_, decoder_, methods::make_cache(method, Json::parse(method_options)), options};
  }
  // Runs until all requests have ended; returns the cached tokens of each by its id.
  static std::map<RequestId, int32_t> cached_of(Engine& engine) {
    std::map<RequestId, int32_t> cached;
    for (const auto& [id, event] : ends_of(engine.run())) cached[id] = event.cached_tokens;
    return cached;
  }
  Context context_{.threads = 1, .isa = best_isa()};
  CountingDecoder decoder_;
  std::vector<int32_t> head_ = counting_from(1, 32);
};

using Cached = std::map<RequestId, int32_t>;

TEST_F(Accounting, CachedTokensAreThoseThatTheMethodHad) {
  Engine engine =
      make("chunk_attention", R"({"chunk_tokens": 16, "reuse_prefill": true, "retain": true})");
  engine.submit({.id = 1, .prompt = joined(head_, counting_from(7, 9)), .max_new_tokens = 3});
  EXPECT_EQ(cached_of(engine), (Cached{{1, 0}}));
  engine.submit({.id = 2, .prompt = joined(head_, counting_from(9, 30)), .max_new_tokens = 1});
  engine.submit({.id = 3, .prompt = counting_from(1, 20), .max_new_tokens = 1});
  engine.submit({.id = 4, .prompt = counting_from(2, 20), .max_new_tokens = 1});
  engine.submit({.id = 5, .prompt = head_, .max_new_tokens = 1});
  EXPECT_EQ(cached_of(engine), (Cached{{2, 32}, {3, 16}, {4, 0}, {5, 31}}))
      << "whole chunks, and never the last token";
}

TEST_F(Accounting, SharingMemoryAloneSparesNobodyItsPrompt) {
  for (const char* method : {"paged", "paged_shared", "contiguous"}) {
    Engine engine = make(method, "{}");
    for (RequestId id : {1, 2})
      engine.submit({.id = id, .prompt = joined(head_, {5, 6}), .max_new_tokens = 2});
    EXPECT_EQ(cached_of(engine), (Cached{{1, 0}, {2, 0}})) << method;
  }
}

TEST_F(Accounting, ADeclaredPrefixIsCachedTokenByToken) {
  Engine engine = make("relay_attention", R"({"block_tokens": 8})");
  engine.declare_prefix("system", counting_from(1, 21));
  (void)engine.run();
  engine.submit({.id = 1, .prompt = counting_from(1, 30), .max_new_tokens = 2});
  engine.submit({.id = 2, .prompt = counting_from(2, 30), .max_new_tokens = 2});
  EXPECT_EQ(cached_of(engine), (Cached{{1, 21}, {2, 0}}));
}

// When a preempted request returns, it finds states that it computed itself. These did not count as
// cached when the request first ran, and must not count now.
TEST_F(Accounting, PreemptionsAreCountedAndDoNotChangeWhatWasCached) {
  for (const char* retain : {"false", "true"}) {
    Engine engine =
        make("chunk_attention",
             fmt::format(R"({{"chunk_tokens": 16, "reuse_prefill": true, "retain": {}}})", retain)
                 .c_str(),
             {.num_blocks = 8});
    for (RequestId id : {1, 2, 3})
      engine.submit(
          {.id = id, .prompt = counting_from(static_cast<int32_t>(id), 30), .max_new_tokens = 60});
    int32_t preempted = 0;
    std::map<RequestId, TokenEvent> ends;
    while (engine.has_work()) {
      const StepReport report = engine.step();
      preempted += report.preempted;
      for (auto& [id, event] : ends_of(report.events)) ends[id] = event;
    }
    int32_t told = 0;
    for (const auto& [id, event] : ends) {
      told += event.preemptions;
      EXPECT_EQ(event.cached_tokens, 0) << "request " << id;
    }
    EXPECT_EQ(ends.at(1).preemptions, 0);
    EXPECT_GT(preempted, 0);
    EXPECT_EQ(told, preempted);
  }
}

TEST_F(Accounting, CancelledRequestsTellWhatTheyHad) {
  Engine engine = make("relay_attention", R"({"block_tokens": 8})");
  engine.declare_prefix("system", counting_from(1, 21));
  (void)engine.run();
  engine.submit({.id = 1, .prompt = counting_from(1, 30), .max_new_tokens = 20});
  (void)engine.step();
  EXPECT_TRUE(engine.cancel(1));
  EXPECT_EQ(cached_of(engine), (Cached{{1, 21}}));
}

TEST_F(Accounting, StepsTellBatchQueueAndBlocks) {
  Engine engine = make("paged", R"({"block_tokens": 16})", {.limits = {.max_batch = 2}});
  for (RequestId id : {1, 2, 3, 4, 5})
    engine.submit({.id = id, .prompt = counting_from(1, 20), .max_new_tokens = id == 1 ? 1 : 2});
  StepReport report = engine.step();
  EXPECT_EQ(report.batch, 2);
  EXPECT_EQ(report.waiting, 3);
  EXPECT_EQ(report.used_blocks, 2) << "the first has ended and given its two back";
  EXPECT_EQ(report.kv_bytes, 2 * engine.pool().block_bytes());
  EXPECT_GT(report.scheduling_ns, 0);
  report = engine.step();
  EXPECT_EQ(report.batch, 2);
  EXPECT_EQ(report.waiting, 2);
  while (engine.has_work()) report = engine.step();
  EXPECT_EQ(report.waiting, 0);
  EXPECT_EQ(report.used_blocks, 0);
  report = engine.step();  // nothing to do
  EXPECT_EQ(report.batch, 0);
  EXPECT_EQ(report.shared_tokens, 0);
}

TEST_F(Accounting, SharedTokensAreThoseReadOnceForSeveral) {
  struct Case {
    const char *method, *options;
    int64_t shared, repeated;
  };
  for (const Case& c :
       {Case{"chunk_attention", R"({"chunk_tokens": 16})", 2 * 32, 0},
        Case{"paged_shared", R"({"block_tokens": 16})", 0, 2 * 32},
        Case{"paged", R"({"block_tokens": 16})", 0, 0}, Case{"contiguous", "{}", 0, 0}}) {
    Engine engine = make(c.method, c.options);
    for (RequestId id : {1, 2, 3})
      engine.submit({.id = id,
                     .prompt = joined(head_, counting_from(static_cast<int32_t>(id), 5)),
                     .max_new_tokens = 4});
    EXPECT_EQ(engine.step().shared_tokens, 0) << c.method << ": each computes its own prompt";
    for (int step = 0; step < 3; ++step) {
      const StepReport report = engine.step();
      EXPECT_EQ(report.shared_tokens, c.shared) << c.method << " step " << step;
      EXPECT_EQ(report.repeated_tokens, c.repeated) << c.method << " step " << step;
      const kv::BlockPool& pool = engine.pool();
      const int64_t token_bytes = pool.block_bytes() / pool.options().block_tokens;
      EXPECT_EQ(report.read_bytes, (3 * (38 + step) - c.shared) * token_bytes)
          << c.method << " step " << step;
    }
  }
}

// The prefix fills 24 of a block's 32 tokens.
TEST_F(Accounting, APrefixShorterThanABlockIsReadRepeatedly) {
  Engine engine = make("paged_shared", R"({"block_tokens": 32, "declared": true})");
  engine.declare_prefix("system", counting_from(1, 24));
  (void)engine.run();
  for (RequestId id : {1, 2})
    engine.submit({.id = id,
                   .prompt = joined(counting_from(1, 24), {static_cast<int32_t>(id), 5}),
                   .max_new_tokens = 4});
  EXPECT_EQ(engine.step().repeated_tokens, 0) << "two prompts";
  for (int step = 0; step < 3; ++step) EXPECT_EQ(engine.step().repeated_tokens, 24) << step;
}

TEST_F(Accounting, SharedTokensAreOfSequencesThatDecode) {
  Engine engine = make("relay_attention", "{}");
  engine.declare_prefix("head", head_);
  while (engine.has_work()) (void)engine.step();
  const auto submit = [&](RequestId id) {
    engine.submit({.id = id,
                   .prompt = joined(head_, counting_from(static_cast<int32_t>(id), 5)),
                   .max_new_tokens = 6});
  };
  submit(1);
  submit(2);
  EXPECT_EQ(engine.step().shared_tokens, 0) << "two prompts";
  EXPECT_EQ(engine.step().shared_tokens, 32);
  submit(3);
  const StepReport mixed = engine.step();
  EXPECT_EQ(mixed.prefill_tokens, 5);
  EXPECT_EQ(mixed.shared_tokens, 32) << "the prompt beside them reads the prefix too";
  EXPECT_GT(mixed.peak_kv_bytes, 0);
  EXPECT_EQ(engine.step().shared_tokens, 2 * 32);
}

}  // namespace
}  // namespace reprise::engine
