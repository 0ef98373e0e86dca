// Tests the policies that let requests pass one another: which requests they prefer, and that no
// request waits for ever.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "core/engine/engine.h"
#include "core/engine/sequences.h"
#include "methods/registry.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/counting_decoder.h"
#include "tests/support/json.h"

namespace reprise::engine {
namespace {

using model::expect_error;
using testing::counting_from;
using testing::CountingDecoder;
using testing::ends_of;

std::vector<uint64_t> keys_of(const std::vector<int32_t>& tokens, int32_t first_position = 0) {
  std::vector<int32_t> positions(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i)
    positions[i] = first_position + static_cast<int32_t>(i);
  return prefix_keys(tokens, positions);
}

TEST(PrefixKeys, StandAtLengthsThatGrowByAHalfAtMost) {
  const std::vector<int32_t> text = counting_from(3, 5000);
  const std::vector<size_t> lengths = {16, 32, 48, 64, 96, 128, 192, 256, 384, 512};
  for (size_t length = 0; length < 600; ++length)
    EXPECT_EQ(
        std::ssize(keys_of({text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length)})),
        std::min<std::ptrdiff_t>(
            10, std::upper_bound(lengths.begin(), lengths.end(), length) - lengths.begin()))
        << length;
  EXPECT_LT(keys_of(text).size(), 18u);
}

TEST(PrefixKeys, AreEqualAsFarAsTokensAndPositionsAre) {
  const std::vector<int32_t> text = counting_from(3, 200);
  for (size_t changed : {0, 15, 16, 47, 48, 100, 199}) {
    std::vector<int32_t> other = text;
    ++other[changed];
    const std::vector<uint64_t> a = keys_of(text), b = keys_of(other);
    const size_t equal = changed < 16    ? 0
                         : changed < 32  ? 1
                         : changed < 48  ? 2
                         : changed < 64  ? 3
                         : changed < 128 ? 5
                                         : 7;
    ASSERT_EQ(a.size(), 7u);
    for (size_t k = 0; k < 7; ++k) EXPECT_EQ(a[k] == b[k], k < equal) << changed << " " << k;
  }
  EXPECT_NE(keys_of(text, 0)[0], keys_of(text, 1)[0]);
  std::vector<int32_t> imports = text;
  imports[40] = reuse::kPrivateToken;
  EXPECT_EQ(keys_of(imports).size(), 2u) << "private tokens equal none";
}

// ---- The queue alone, against its rules written out ----

class Queue {
 public:
  explicit Queue(std::shared_ptr<Scheduler> scheduler)
      : scheduler_(std::move(scheduler)),
        rules_(scheduler_->rules()),
        sequences_(*scheduler_, [](const Sequence&) { return 0; }) {}

  void add(Request request, int64_t now_ns) {
    const RequestId id = request.id;
    waiting_[id] = &sequences_.add(std::move(request), now_ns);
  }
  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] const std::map<RequestId, Sequence*>& waiting() const { return waiting_; }
  [[nodiscard]] const std::map<RequestId, Sequence*>& running() const { return running_; }

  // Checks the queue's choice of the next sequence, and starts that sequence.
  void start(int64_t now_ns) {
    Sequence& head = sequences_.head(now_ns);
    check(head, now_ns);
    sequences_.start(head);
    waiting_.erase(head.request.id);
    running_[head.request.id] = &head;
    last_ = head.prefix_keys;
  }
  void preempt(RequestId id) {
    sequences_.preempt(*running_.at(id));
    waiting_[id] = running_.at(id);
    running_.erase(id);
  }
  void remove(RequestId id) {
    sequences_.remove(id);
    waiting_.erase(id);
    running_.erase(id);
  }

 private:
  [[nodiscard]] static bool is_older(const Sequence& a, const Sequence& b) {
    if (a.times.intended != b.times.intended) return a.times.intended < b.times.intended;
    return a.submission < b.submission;
  }
  using Keys = std::vector<uint64_t>;
  [[nodiscard]] static size_t common(const Keys& a, const Keys& b) {
    const auto [end, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    return static_cast<size_t>(end - a.begin());
  }
  [[nodiscard]] size_t shared(const Sequence& sequence) const {
    size_t most = common(sequence.prefix_keys, last_);
    for (const auto& [id, other] : running_)
      most = std::max(most, common(sequence.prefix_keys, other->prefix_keys));
    return most;
  }

  void check(const Sequence& head, int64_t now_ns) const {
    const Sequence* oldest = &head;
    size_t most_shared = 0;
    for (const auto& [id, sequence] : waiting_) {
      ASSERT_LE(sequence->request.priority, head.request.priority);
      if (sequence->request.priority < head.request.priority) continue;
      if (is_older(*sequence, *oldest)) oldest = sequence;
      most_shared = std::max(most_shared, shared(*sequence));
    }
    if (rules_.most_wait_ns != kNever && now_ns - oldest->times.intended >= rules_.most_wait_ns) {
      ASSERT_EQ(head.request.id, oldest->request.id) << "it waits for too long";
      return;
    }
    if (rules_.follows_prefixes && most_shared > 0) {
      ASSERT_EQ(shared(head), most_shared);
      for (const auto& [id, sequence] : waiting_)
        ASSERT_FALSE(common(sequence->prefix_keys, head.prefix_keys) >= most_shared &&
                     is_older(*sequence, head));
      return;
    }
    for (const auto& [id, sequence] : waiting_)
      ASSERT_FALSE(scheduler_->comes_before(sequence->waiting(), head.waiting()));
  }

  std::shared_ptr<Scheduler> scheduler_;
  QueueRules rules_;
  Sequences sequences_;
  std::map<RequestId, Sequence*> waiting_, running_;
  Keys last_;  // keys of the sequence that joined last
};

// A prompt that may begin with a system prompt and examples, and ends with tokens of its own.
Request random_request(RequestId id, std::mt19937_64& random, bool has_priorities) {
  const auto pick = [&](int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random);
  };
  std::vector<int32_t> prompt;
  const auto extend = [&](int32_t seed, int32_t tokens) {
    for (int32_t i = 0; i < tokens; ++i) prompt.push_back((seed * 37 + i * i) % 97);
  };
  if (pick(0, 3) > 0) extend(pick(1, 3), 40);
  if (!prompt.empty() && pick(0, 1) > 0) extend(pick(1, 3), 64);
  extend(pick(5, 1000), pick(1, 60));
  return {.id = id,
          .prompt = std::move(prompt),
          .arrival_ns = pick(0, 3) == 0 ? id * 10 - pick(0, 50) : id * 10,
          .priority = has_priorities ? pick(0, 2) : 0};
}

TEST(Policies, TheHeadOfTheQueueIsWhoTheRulesSay) {
  for (const std::string& name : known_schedulers())
    for (uint64_t seed : {1, 2, 3}) {
      SCOPED_TRACE(name + ", seed " + std::to_string(seed));
      std::mt19937_64 random(seed);
      const auto pick = [&](int32_t low, int32_t high) {
        return std::uniform_int_distribution<int32_t>(low, high)(random);
      };
      Queue queue(make_scheduler(name, {.most_wait_s = seed == 1 ? 1e9 : 400e-9}));
      int64_t now_ns = 0;
      for (RequestId id = 0; id < 600 || !queue.empty(); ++id, now_ns += 10) {
        // Prefixes and priorities are tested apart, because among sequences that share a prefix the
        // rules ask for the highest priority.
        if (id < 600) queue.add(random_request(id, random, name != "prefix_affine"), now_ns);
        const bool is_full = queue.running().size() >= 8;
        if (pick(0, 4) == 0 && !queue.waiting().empty())
          queue.remove(queue.waiting().rbegin()->first);
        if (is_full) queue.remove(queue.running().begin()->first);
        if (pick(0, 9) == 0 && !queue.running().empty())
          queue.preempt(queue.running().rbegin()->first);
        for (int some = pick(0, 2); some > 0 && !queue.empty(); --some) queue.start(now_ns);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
}

// ---- What the engine does with the policies ----

class Served : public ::testing::Test {
 protected:
  Engine make(const std::string& policy, int32_t max_batch, double most_wait_s = 1e9,
              const char* method = "paged", const Json& method_options = {{"block_tokens", 16}}) {
    return {context_,
            decoder_,
            methods::make_cache(method, method_options),
            {.limits = {.max_batch = max_batch, .max_sequence_tokens = 300},
             .scheduler = make_scheduler(policy, {.most_wait_s = most_wait_s}),
             .clock_ns = [this] { return now_ns_; }}};
  }
  // Ids in the order in which they were admitted, one by one.
  static std::vector<RequestId> served_one_by_one(Engine& engine) {
    std::vector<RequestId> order;
    for (const TokenEvent& event : engine.run())
      if (event.finish != FinishReason::kNone) order.push_back(event.request);
    return order;
  }
  using Ids = std::vector<RequestId>;
  Context context_{.threads = 1, .isa = best_isa()};
  CountingDecoder decoder_;
  int64_t now_ns_ = 0;
};

TEST_F(Served, ShortestPromptsGoFirst) {
  Engine engine = make("shortest_prompt", 1);
  for (const auto& [id, length] : {std::pair{1, 90}, {2, 30}, {3, 90}, {4, 7}, {5, 30}})
    engine.submit({.id = id, .prompt = counting_from(1, length), .max_new_tokens = 2});
  EXPECT_EQ(served_one_by_one(engine), (Ids{4, 2, 5, 1, 3}));
}

TEST_F(Served, WhatTheCacheHasIsNotCountedAsALongPrompt) {
  Engine engine =
      make("shortest_prompt", 1, 1e9, "chunk_attention",
           Json::parse(R"({"chunk_tokens": 16, "reuse_prefill": true, "retain": true})"));
  engine.submit({.id = 1, .prompt = counting_from(1, 96), .max_new_tokens = 1});
  (void)engine.run();
  engine.submit({.id = 2, .prompt = counting_from(7, 40), .max_new_tokens = 1});
  engine.submit({.id = 3, .prompt = counting_from(1, 110), .max_new_tokens = 1});
  engine.submit({.id = 4, .prompt = counting_from(9, 13), .max_new_tokens = 1});
  EXPECT_EQ(served_one_by_one(engine), (Ids{4, 3, 2})) << "13, 14 and 40 tokens to compute";
}

// Short prompts keep coming; without the bound, a long one would never be served.
TEST_F(Served, NobodyWaitsLongerThanTheBoundAllows) {
  for (const double most_wait_s : {0.0, 3.0, 40.0}) {
    now_ns_ = 0;
    Engine engine = make("shortest_prompt", 1, most_wait_s);
    engine.submit({.id = 0, .prompt = counting_from(1, 200), .max_new_tokens = 1});
    engine.submit({.id = 1, .prompt = {1}, .max_new_tokens = 1});
    int64_t admitted_ns = kNotYet;
    for (RequestId id = 2; id < 100 && admitted_ns == kNotYet; ++id) {
      for (const TokenEvent& event : engine.step().events)
        if (event.request == 0) admitted_ns = event.times.admitted;
      now_ns_ += 1'000'000'000;
      engine.submit({.id = id, .prompt = {1}, .max_new_tokens = 1});
    }
    EXPECT_EQ(admitted_ns, static_cast<int64_t>(most_wait_s * 1e9)) << most_wait_s;
  }
}

std::vector<int32_t> with_head(int32_t head, int32_t own) {
  std::vector<int32_t> prompt = counting_from(head, 64);
  for (int32_t i = 0; i < 20; ++i) prompt.push_back((own * 7 + i * own) % CountingDecoder::kVocab);
  return prompt;
}

TEST_F(Served, RequestsThatShareAPrefixRunTogether) {
  const auto order = [&](const char* policy, double most_wait_s) {
    now_ns_ = 0;
    Engine engine = make(policy, 2, most_wait_s);
    for (RequestId id = 1; id <= 8; ++id) {
      now_ns_ = id;
      engine.submit({.id = id,
                     .prompt = with_head(id % 2 == 0 ? 3 : 5, static_cast<int32_t>(id)),
                     .max_new_tokens = 3});
    }
    return served_one_by_one(engine);
  };
  EXPECT_EQ(order("first_come", 1e9), (Ids{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(order("prefix_affine", 1e9), (Ids{1, 3, 5, 7, 2, 4, 6, 8}));
  EXPECT_EQ(order("prefix_affine", 0), (Ids{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST_F(Served, AffinityFindsMoreInTheCache) {
  const auto cached = [&](const char* policy) {
    Engine engine = make(policy, 4, 1e9, "chunk_attention",
                         Json::parse(R"({"chunk_tokens": 16, "reuse_prefill": true})"));
    std::mt19937_64 random(1);
    for (RequestId id = 1; id <= 120; ++id)
      engine.submit(
          {.id = id,
           .prompt = with_head(static_cast<int32_t>(random() % 6) * 5, static_cast<int32_t>(id)),
           .max_new_tokens = 2 + static_cast<int32_t>(random() % 6)});
    int64_t sum = 0;
    for (const auto& [id, event] : ends_of(engine.run())) sum += event.cached_tokens;
    EXPECT_EQ(engine.pool().used_blocks(), 0);
    return sum;
  };
  EXPECT_GE(cached("prefix_affine"), (120 - 6 - 20) * 64);
  EXPECT_GT(cached("prefix_affine"), cached("first_come") * 3 / 2);
}

TEST(Policies, BoundsThatMakeNoSenseAreNamed) {
  for (const double bad : {-1.0, std::nan("")})
    expect_error([&] { (void)make_scheduler("shortest_prompt", {.most_wait_s = bad}); },
                 {"most_wait_s", "0 seconds or more"});
  const auto unbounded =
      make_scheduler("prefix_affine", {.most_wait_s = std::numeric_limits<double>::infinity()});
  EXPECT_GT(unbounded->rules().most_wait_ns, int64_t{3'000'000'000'000'000'000});
  expect_error([] { (void)make_scheduler("shortest_promt"); },
               {"did you mean \"shortest_prompt\"?"});
}

}  // namespace
}  // namespace reprise::engine
