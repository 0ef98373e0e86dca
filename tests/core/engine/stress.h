// Runs an engine with everything at once: requests arrive, are cancelled, expire and are preempted;
// named prefixes are declared and dropped meanwhile; prompts and decodes share steps. The tokens
// must be the same as if each request ran alone, and no block may be left behind.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "tests/methods/exact_method_cases.h"
#include "tests/support/counting_decoder.h"
#include "tests/support/json.h"
#include "tests/support/tiny_models.h"

namespace reprise::testing {

// Prompts, most of which begin with one of four prefixes, and each prompt's continuation, computed
// one request at a time with the contiguous cache.
struct StressTexts {
  static constexpr int32_t kMostPrompt = 48, kMostNew = 32, kMostPrefix = 24;
  std::vector<std::vector<int32_t>> prefixes, prompts, continuations;

  StressTexts(model::Decoder& decoder, uint64_t seed, const Context& context) {
    std::mt19937_64 random(seed);
    const auto pick = [&](int32_t low, int32_t high) {
      return std::uniform_int_distribution<int32_t>(low, high)(random);
    };
    const auto draw = [&](std::vector<int32_t> text, int32_t more) {
      for (int32_t i = 0; i < more; ++i) text.push_back(pick(2, 96));
      return text;
    };
    for (int i = 0; i < 4; ++i)
      prefixes.push_back(i == 1 ? draw(prefixes[0], 8) : draw({}, pick(4, 16)));
    std::vector<Arrival> arrivals;
    for (int64_t i = 0; i < 120; ++i) {
      const bool has_prefix = pick(0, 3) > 0;
      std::vector<int32_t> prompt;
      if (has_prefix) prompt = prefixes[static_cast<size_t>(pick(0, 3))];
      prompt = draw(std::move(prompt), pick(has_prefix ? 0 : 1, kMostPrompt - kMostPrefix));
      arrivals.push_back({0, {.id = i, .prompt = prompt, .max_new_tokens = kMostNew}});
      prompts.push_back(std::move(prompt));
    }
    for (auto& [id, tokens] :
         run_requests(decoder, {"contiguous"}, arrivals, 1, 512, context).tokens)
      continuations.push_back(tokens);
  }
};

struct StressCount {
  int64_t served = 0, cancelled = 0, preempted = 0, mixed_steps = 0, prefixes = 0;
  int64_t swapped_in = 0, swap_full = 0;
};

// Runs one method under `requests` requests. The pool is tight: up to six sequences run, but the
// pool's size is that needed for one sequence and three prefixes.
class Stress {
 public:
  Stress(model::Decoder& decoder, const MethodUnderTest& method, const StressTexts& texts,
         uint64_t seed, const Context& context)
      : texts_(texts),
        random_(seed),
        engine_(context, decoder, methods::make_cache(method.name, method.options),
                options(method, seed, decoder.config())) {
    engine_.observe_logits([this](const engine::LogitsRow& row) {
      EXPECT_EQ(row.token, shown_[row.request]++) << "request " << row.request;
    });
  }

  StressCount run(int64_t requests) {
    while (next_ < requests || engine_.has_work()) {
      ++now_;
      if (next_ < requests) submit_some(requests);
      if (pick(0, 29) == 0) cancel_any();
      if (next_ < requests && pick(0, 4) == 0) change_prefixes();
      const engine::StepReport report = engine_.step();
      count_.preempted += report.preempted;
      count_.mixed_steps += report.prefill_tokens > 0 && report.decode_tokens > 0 ? 1 : 0;
      for (const engine::TokenEvent& event : report.events) take(event);
      if (::testing::Test::HasFatalFailure()) return count_;
    }
    EXPECT_TRUE(open_.empty());
    while (!names_.empty()) drop_prefix(*names_.begin());
    double retained = 0;
    engine_.cache().report([&](std::string_view name, double value, std::string_view) {
      if (name == "retained_kv_bytes") retained = value;
    });
    EXPECT_EQ(static_cast<double>(engine_.pool().used_bytes()), retained);
    const engine::SwapStats& swap = engine_.swap_stats();
    EXPECT_EQ(swap.held_sequences, 0);
    EXPECT_EQ(swap.held_bytes, 0);
    EXPECT_EQ(swap.failed, 0) << swap.last_failure;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path()))
      EXPECT_TRUE(entry.is_directory()) << entry.path();
    count_.swapped_in += swap.swapped_in;
    count_.swap_full += swap.full;
    return count_;
  }

 private:
  struct Open {
    size_t text = 0;
    int32_t new_tokens = 0;
    bool is_scored = false;
    std::vector<int32_t> tokens;
  };

  engine::EngineOptions options(const MethodUnderTest& method, uint64_t seed,
                                const model::ModelConfig& config) {
    const int32_t most = StressTexts::kMostPrompt + StressTexts::kMostNew;
    engine::EngineOptions options{.step_tokens = static_cast<int32_t>(seed % 3 == 0 ? 7 : 40)};
    options.limits = {.max_batch = 1,
                      .max_sequence_tokens = most,
                      .prefix_tokens = 3 * StressTexts::kMostPrefix,
                      .prefixes = 3};
    options.num_blocks = static_cast<int32_t>(
        methods::make_cache(method.name, method.options)->pool_need(options.limits).num_blocks);
    options.limits.max_batch = 6;
    const std::vector<std::string> schedulers = engine::known_schedulers();
    // The clock counts steps as nanoseconds: some requests wait longer than these 20 steps.
    options.scheduler =
        engine::make_scheduler(schedulers[seed % schedulers.size()], {.most_wait_s = 20e-9});
    options.clock_ns = [this] { return now_; };
    options.swap = swap_options(seed, config);
    return options;
  }
  // Swap options, whose kind of preemption the seed chooses. One of the four has room for only 24
  // tokens in f32, which is less than the preempted sequences need.
  [[nodiscard]] engine::SwapOptions swap_options(uint64_t seed,
                                                 const model::ModelConfig& config) const {
    using engine::Preemption;
    const int64_t few_bytes = 24 * 2 * 4 * config.layers * config.kv_heads * config.head_dim;
    const Preemption kinds[] = {Preemption::kSwapHost, Preemption::kRecompute,
                                Preemption::kSwapHost, Preemption::kSwapDisk};
    return {.preemption = kinds[seed / 4 % 4],
            .most_bytes = seed / 4 % 4 == 2 ? few_bytes : 0,
            .folder = folder_.path()};
  }
  int32_t pick(int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random_);
  }

  void submit_some(int64_t requests) {
    for (int some = pick(0, 3); some > 1 && open_.size() < 24 && next_ < requests; --some) {
      Open open{.text = static_cast<size_t>(pick(0, 119)),
                .new_tokens = pick(0, StressTexts::kMostNew)};
      open.is_scored = pick(0, 7) == 0;
      engine_.submit(
          {.id = next_,
           .prompt = texts_.prompts[open.text],
           .max_new_tokens = open.new_tokens,
           .logits = open.is_scored ? engine::LogitsMode::kAll : engine::LogitsMode::kNone,
           .priority = pick(0, 1)});
      open_[next_++] = std::move(open);
    }
  }
  void cancel_any() {
    if (open_.empty()) return;
    auto entry = open_.begin();
    std::advance(entry, pick(0, static_cast<int32_t>(open_.size()) - 1));
    EXPECT_TRUE(engine_.cancel(entry->first));
  }
  void change_prefixes() {
    const std::string name = "prefix " + std::to_string(pick(0, 4));
    if (names_.contains(name)) return drop_prefix(name);
    if (names_.size() == 3) return;
    engine_.declare_prefix(name, texts_.prefixes[static_cast<size_t>(pick(0, 3))]);
    names_.insert(name);
    ++count_.prefixes;
  }
  void drop_prefix(const std::string& name) {
    const std::string dropped = name;  // a copy, because erase() destroys the set's own string
    engine_.drop_prefix(dropped);
    names_.erase(dropped);
  }

  void take(const engine::TokenEvent& event) {
    ASSERT_TRUE(open_.contains(event.request)) << event.request << " " << event.reason;
    Open& open = open_.at(event.request);
    const std::vector<int32_t>& want = texts_.continuations[open.text];
    if (event.has_token()) {
      ASSERT_EQ(event.index, static_cast<int32_t>(open.tokens.size()));
      ASSERT_EQ(event.token, want[open.tokens.size()])
          << "request " << event.request << " token " << event.index;
      open.tokens.push_back(event.token);
    }
    if (event.finish == engine::FinishReason::kNone) return;
    ASSERT_NE(event.finish, engine::FinishReason::kRefused) << event.reason;
    count_.served += event.finish == engine::FinishReason::kLength;
    count_.cancelled += event.finish == engine::FinishReason::kCancelled;
    if (event.finish == engine::FinishReason::kLength) {
      ASSERT_EQ(std::ssize(open.tokens), open.new_tokens);
      if (open.is_scored) {
        const auto drawn_from = static_cast<int32_t>(texts_.prompts[open.text].size()) +
                                std::max(0, open.new_tokens - 1);
        ASSERT_EQ(shown_[event.request], drawn_from);
      }
    }
    open_.erase(event.request);
    shown_.erase(event.request);
  }

  const StressTexts& texts_;
  std::mt19937_64 random_;
  model::TempDir folder_;
  int64_t now_ = 0, next_ = 0;
  engine::Engine engine_;
  std::map<engine::RequestId, Open> open_;
  std::map<engine::RequestId, int32_t> shown_;
  std::set<std::string> names_;
  StressCount count_;
};

// Runs every exact method under `requests` requests each. A failure's message names the seed.
inline void stress_every_method(uint64_t seed, int64_t requests, const std::string& shape) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const Context context{.threads = 1, .isa = best_isa()};  // steps are tiny
  Json config = scaled_down(shape);
  config["num_hidden_layers"] = 1;
  auto decoder = random_decoder(config, context);
  const StressTexts texts(*decoder, seed, context);
  StressCount all;
  for (const MethodUnderTest& method : exact_method_cases()) {
    if (!takes_several_prefixes(method)) continue;
    SCOPED_TRACE(method.label());
    Stress stress(*decoder, method, texts, ++seed, context);
    const StressCount count = stress.run(requests);
    if (::testing::Test::HasFailure()) return;
    EXPECT_EQ(count.served + count.cancelled, requests);
    all.served += count.served;
    all.cancelled += count.cancelled;
    all.preempted += count.preempted;
    all.mixed_steps += count.mixed_steps;
    all.prefixes += count.prefixes;
    all.swapped_in += count.swapped_in;
    all.swap_full += count.swap_full;
  }
  // Each kind of event must have happened often enough for the test to mean something.
  for (int64_t happened : {all.served, all.cancelled, all.preempted, all.mixed_steps, all.prefixes,
                           all.swapped_in, all.swap_full})
    EXPECT_GT(happened, 20);
  std::printf(
      "served %ld, cancelled %ld, preempted %ld, mixed steps %ld, prefixes %ld, "
      "swapped in %ld, without room %ld\n",
      all.served, all.cancelled, all.preempted, all.mixed_steps, all.prefixes, all.swapped_in,
      all.swap_full);
}

}  // namespace reprise::testing
