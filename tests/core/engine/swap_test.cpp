// Tests preemption by swapping. Computed states come back, and neither states in memory nor files
// are left over. If memory or disk refuses a sequence's states, the sequence computes them again.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "core/engine/engine.h"
#include "core/reuse/prefix_tree_cache.h"
#include "methods/registry.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/counting_decoder.h"
#include "tests/support/json.h"
#include "tests/support/run_requests.h"
#include "tests/support/tiny_models.h"

namespace reprise::engine {
namespace {

using model::expect_error;
using testing::counting_from;
using testing::CountingDecoder;
using testing::MethodUnderTest;
using testing::Tokens;
using testing::tokens_of;

// The files of swapped sequences below `folder`.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  return files;
}

// Four sequences that grow from 20 to 80 tokens. The pool holds only two of them.
class Swapped : public ::testing::Test {
 protected:
  static constexpr int32_t kPrompt = 20, kNew = 60;

  struct Run {
    Tokens tokens;
    int32_t preempted = 0, computed = 0, prefilled = 0, restored = 0;
    SwapStats stats;
  };
  // `meanwhile` is called before each step.
  Run run(
      model::Decoder& decoder, const MethodUnderTest& method, const SwapOptions& swap,
      const std::function<void(Engine&)>& meanwhile = [](Engine&) {}) {
    return run(decoder, methods::make_cache(method.name, method.options), swap, meanwhile);
  }
  Run run(
      model::Decoder& decoder, std::unique_ptr<reuse::SequenceCache> cache, const SwapOptions& swap,
      const std::function<void(Engine&)>& meanwhile = [](Engine&) {}) {
    EngineOptions options{.limits = {.max_batch = 4, .max_sequence_tokens = kPrompt + kNew},
                          .scheduler = scheduler_,
                          .swap = swap};
    options.num_blocks = static_cast<int32_t>(
        2 * cache->pool_need({.max_batch = 1, .max_sequence_tokens = kPrompt + kNew}).num_blocks);
    Engine engine(context_, decoder, std::move(cache), options);
    for (RequestId id : {1, 2, 3, 4})
      engine.submit({.id = id,
                     .prompt = counting_from(static_cast<int32_t>(id) * 3, kPrompt),
                     .max_new_tokens = kNew});
    Run run;
    std::vector<TokenEvent> events;
    while (engine.has_work()) {
      meanwhile(engine);
      const StepReport report = engine.step();
      run.preempted += report.preempted;
      run.computed += report.prefill_tokens + report.decode_tokens;
      run.prefilled += report.prefill_tokens;
      run.restored += report.restored_tokens;
      events.insert(events.end(), report.events.begin(), report.events.end());
    }
    run.tokens = tokens_of(events);
    run.stats = engine.swap_stats();
    EXPECT_EQ(engine.pool().used_blocks(), 0);
    EXPECT_EQ(run.stats.held_sequences, 0);
    EXPECT_EQ(run.stats.held_bytes, 0);
    return run;
  }

  Context context_{.threads = 1, .isa = best_isa()};
  CountingDecoder decoder_;
  std::shared_ptr<Scheduler> scheduler_;
  model::TempDir folder_;
  const SwapOptions host_{.preemption = Preemption::kSwapHost};
  const SwapOptions disk_{.preemption = Preemption::kSwapDisk, .folder = folder_.path()};
};

const MethodUnderTest kPaged{"paged", {{"block_tokens", 16}}};

TEST_F(Swapped, NothingIsComputedTwice) {
  for (const MethodUnderTest& method :
       {kPaged, MethodUnderTest{"paged_shared", {{"block_tokens", 8}}},
        MethodUnderTest{"chunk_attention", Json::parse(R"({"chunk_tokens": 16,
                                                           "reuse_prefill": true})")},
        MethodUnderTest{"relay_attention", {{"block_tokens", 8}}},
        MethodUnderTest{"auto", {{"chunk_tokens", 16}}}}) {
    SCOPED_TRACE(method.label());
    const Run again = run(decoder_, method, {});
    EXPECT_GT(again.preempted, 0);
    EXPECT_EQ(again.restored, 0);
    EXPECT_EQ(again.stats.swapped_out, 0);
    for (const SwapOptions& swap : {host_, disk_}) {
      const Run kept = run(decoder_, method, swap);
      EXPECT_EQ(kept.tokens, again.tokens);
      EXPECT_GT(kept.preempted, 0);
      EXPECT_GT(kept.restored, 0);
      EXPECT_LT(kept.computed, again.computed);
      // Each sequence computes its prompt and all but its last token, once.
      EXPECT_EQ(kept.computed, 4 * (kPrompt + kNew - 1));
      EXPECT_EQ(kept.stats.swapped_out, kept.preempted);
      EXPECT_EQ(kept.stats.swapped_in, kept.preempted);
      EXPECT_EQ(kept.stats.full + kept.stats.failed, 0);
      EXPECT_GT(kept.stats.peak_bytes, 0);
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "the engine's own folder goes too";
  }
}

// A sequence that is swapped in goes on decoding. If it counted as a prompt, the others would wait
// for a step.
TEST_F(Swapped, ASequenceThatComesBackDecodes) {
  for (const char* policy : {"first_come", "prefill_first"}) {
    scheduler_ = make_scheduler(policy);
    const Run kept = run(decoder_, kPaged, host_);
    EXPECT_GT(kept.stats.swapped_in, 0) << policy;
    EXPECT_EQ(kept.prefilled, 4 * kPrompt) << policy;
  }
}

// A paged cache that does not say where its states lie.
class NotRelocatable final : public reuse::PrefixTreeCache {
 public:
  NotRelocatable()
      : PrefixTreeCache({.tree = {.chunk_tokens = 16, .matching = reuse::Matching::kNone}},
                        [](const reuse::TreeNode&) { return false; }) {}
  [[nodiscard]] reuse::Relocatable* relocatable() override { return nullptr; }
};

TEST_F(Swapped, SequencesOfACacheThatIsNotRelocatableComputeAgain) {
  const Run paged = run(decoder_, kPaged, {});
  for (const SwapOptions& swap : {host_, disk_}) {
    const Run got = run(decoder_, std::make_unique<NotRelocatable>(), swap);
    EXPECT_EQ(got.tokens, paged.tokens);
    EXPECT_GT(got.preempted, 0);
    EXPECT_EQ(got.computed, paged.computed);
    EXPECT_EQ(got.restored, 0);
    EXPECT_EQ(got.stats.swapped_out, 0);
    EXPECT_EQ(got.stats.peak_bytes, 0);
  }
}

TEST_F(Swapped, WhereTheBudgetIsFullSequencesComputeAgain) {
  const Run free = run(decoder_, kPaged, host_);
  const Run none = run(decoder_, kPaged, {.preemption = Preemption::kSwapHost, .most_bytes = 1});
  EXPECT_EQ(none.tokens, free.tokens);
  EXPECT_EQ(none.stats.full, none.preempted);
  EXPECT_EQ(none.stats.peak_bytes, 0);
  const int64_t some_bytes = free.stats.peak_bytes - 1;
  const Run some =
      run(decoder_, kPaged, {.preemption = Preemption::kSwapHost, .most_bytes = some_bytes});
  EXPECT_EQ(some.tokens, free.tokens);
  EXPECT_GT(some.stats.full, 0);
  EXPECT_GT(some.stats.swapped_in, 0);
  EXPECT_LE(some.stats.peak_bytes, some_bytes);
}

// Uses a model whose tokens depend on the cache, so that wrong states would show.
TEST_F(Swapped, DamagedFilesAreNotedAndComputedAgain) {
  auto decoder = testing::random_decoder(testing::scaled_down("tinyllama-1.1b"), context_);
  const Run want = run(*decoder, kPaged, {});
  int damaged = 0;
  const Run got = run(*decoder, kPaged, disk_, [&](Engine&) {
    for (const auto& file : files_in(folder_.path())) {
      std::fstream bytes(file, std::ios::binary | std::ios::in | std::ios::out);
      const auto size = static_cast<std::streamoff>(std::filesystem::file_size(file));
      bytes.seekp(damaged % 3 == 0 ? 100 : size - 1 - damaged % 40);
      bytes.put('\x7e').put('\x7f');
      ++damaged;
    }
  });
  EXPECT_GT(damaged, 0);
  EXPECT_EQ(got.tokens, want.tokens);
  EXPECT_EQ(got.stats.failed, got.preempted);
  EXPECT_EQ(got.stats.swapped_in, 0);
  EXPECT_NE(got.stats.last_failure.find(folder_.path().string()), std::string::npos)
      << got.stats.last_failure;
  const Run whole = run(*decoder, kPaged, disk_);
  EXPECT_EQ(whole.tokens, want.tokens);
  EXPECT_GT(whole.stats.swapped_in, 0);
}

TEST_F(Swapped, AFolderThatGoesAwayEndsNothing) {
  const Run want = run(decoder_, kPaged, {});
  const Run got = run(decoder_, kPaged, disk_, [&](Engine&) {
    for (const auto& own : std::filesystem::directory_iterator(folder_.path()))
      std::filesystem::remove_all(own.path());
  });
  EXPECT_EQ(got.tokens, want.tokens);
  EXPECT_EQ(got.stats.failed, got.preempted);
  EXPECT_EQ(got.stats.swapped_out, 0);
}

// Simulates a full disk: the system accepts only the first part of the file.
TEST_F(Swapped, AFullDiskEndsNothing) {
  auto decoder = testing::random_decoder(testing::scaled_down("tinyllama-1.1b"), context_);
  const Run want = run(*decoder, kPaged, {});
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 10'000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Run got = run(*decoder, kPaged, disk_);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(got.tokens, want.tokens);
  EXPECT_GT(got.stats.failed, 0);
  EXPECT_NE(got.stats.last_failure.find("File too large"), std::string::npos)
      << got.stats.last_failure;
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(Swapped, WhoIsCancelledMeanwhileLeavesNothing) {
  for (const SwapOptions& swap : {host_, disk_}) {
    bool was_cancelled = false;
    const Run got = run(decoder_, kPaged, swap, [&](Engine& engine) {
      if (was_cancelled || engine.swap_stats().held_sequences == 0) return;
      const int64_t held = engine.swap_stats().held_sequences;
      EXPECT_EQ(std::ssize(files_in(folder_.path())),
                swap.preemption == Preemption::kSwapDisk ? held : 0);
      EXPECT_TRUE(engine.cancel(4)) << "the latest is the first to give way";
      was_cancelled = true;
      EXPECT_EQ(engine.swap_stats().held_sequences, held - 1);
    });
    EXPECT_TRUE(was_cancelled);
    EXPECT_EQ(got.tokens.at(1).size(), static_cast<size_t>(kNew));
  }
}

// Three sequences share a prefix of 32 tokens that stays in the cache, so it is not copied when
// they are swapped out. If it has been dropped meanwhile, the copied states are of no use.
TEST_F(Swapped, WhatOthersKeepIsNotCopied) {
  for (const bool is_dropped : {false, true}) {
    Engine engine(context_, decoder_, methods::make_cache("relay_attention", {{"block_tokens", 8}}),
                  {.limits = {.max_batch = 3, .max_sequence_tokens = 100, .prefix_tokens = 32},
                   .num_blocks = 24,
                   .swap = host_});
    engine.declare_prefix("system", counting_from(1, 32));
    (void)engine.run();
    Tokens want;
    for (RequestId id : {1, 2, 3}) {
      std::vector<int32_t> prompt = counting_from(1, 32);
      for (int32_t token : counting_from(static_cast<int32_t>(id) * 5, 10)) prompt.push_back(token);
      want[id] = counting_from(static_cast<int32_t>(id) * 5 + 10, 56);
      engine.submit({.id = id, .prompt = std::move(prompt), .max_new_tokens = 56});
    }
    std::vector<TokenEvent> events;
    const int64_t token_bytes = engine.pool().block_bytes() / 8;
    bool has_prefix = true;
    while (engine.has_work()) {
      for (TokenEvent& event : engine.step().events) events.push_back(std::move(event));
      const SwapStats& stats = engine.swap_stats();
      EXPECT_LE(stats.held_bytes, stats.held_sequences * (10 + 56) * token_bytes);
      if (!is_dropped || !has_prefix || stats.held_sequences == 0) continue;
      engine.drop_prefix("system");
      has_prefix = false;
    }
    EXPECT_EQ(tokens_of(events), want);
    EXPECT_EQ(has_prefix, !is_dropped);
    EXPECT_EQ(engine.swap_stats().lost > 0, is_dropped);
    EXPECT_GT(engine.swap_stats().swapped_out, 0);
    if (!is_dropped) {
      EXPECT_EQ(engine.swap_stats().swapped_in, engine.swap_stats().swapped_out);
      engine.drop_prefix("system");
    }
    EXPECT_EQ(engine.swap_stats().held_sequences, 0);
    EXPECT_EQ(engine.pool().used_blocks(), 0);
  }
}

TEST_F(Swapped, MistakesAreNamed) {
  const auto refused = [&](const SwapOptions& swap, std::initializer_list<std::string> parts) {
    expect_error([&] { run(decoder_, kPaged, swap); }, parts);
  };
  refused({.preemption = Preemption::kSwapHost, .most_bytes = -1}, {"swap.most_bytes is -1"});
  refused({.preemption = Preemption::kSwapDisk}, {"swap_disk", "swap.folder"});
  const auto file = folder_.write("a_file", "x");
  for (const auto& folder : {file, file / "below"})
    refused({.preemption = Preemption::kSwapDisk, .folder = folder},
            {file.string(), "that you may write to with swap.folder"});
  for (const std::string& name : known_preemptions())
    EXPECT_EQ(name_of(parse_preemption(name)), name);
  expect_error([] { (void)parse_preemption("swap_disc"); }, {"did you mean \"swap_disk\"?"});
}

}  // namespace
}  // namespace reprise::engine
