#include "tests/simulation/drawn_engine.h"

#include <algorithm>

#include "core/base/random.h"
#include "core/engine/sampling.h"
#include "methods/auto/auto.h"
#include "tests/methods/exact_method_cases.h"
#include "tests/simulation/faulty_cache.h"

namespace reprise::simulation {
namespace {

using testing::MethodUnderTest;

const std::vector<MethodUnderTest>& methods() {
  static const std::vector<MethodUnderTest> all = [] {
    std::vector<MethodUnderTest> cases = testing::exact_method_cases();
    std::erase_if(cases, [](const MethodUnderTest& method) {
      return !testing::takes_several_prefixes(method);
    });
    return cases;
  }();
  return all;
}

// The method's cache. In `auto`, the machine's limits decide what is shared; here the seed decides
// it, so that all machines do the same.
std::unique_ptr<reuse::SequenceCache> cache_of(const MethodUnderTest& method, uint64_t seed) {
  if (method.name != "auto") return methods::make_cache(method.name, method.options);
  const auto options = reuse::read_options<reuse::TreeOptions>(fields_of(method.options), "auto");
  const auto shares = [seed](const reuse::TreeNode& node) {
    const auto tokens = static_cast<uint64_t>(node.tokens);
    return random_bits(seed, tokens, static_cast<uint64_t>(node.sequences)) % 2 == 0;
  };
  return std::make_unique<reuse::PrefixTreeCache>(methods::auto_tree(options), shares);
}

}  // namespace

DrawnEngine::DrawnEngine(Random& random, Canary canary, int32_t rarity)
    : random_(random), rarity_(rarity), disk_(random.bits()) {
  const MethodUnderTest& method = random.of(std::span<const MethodUnderTest>(methods()));
  method_ = method.label();
  draw_texts();
  const auto make = [&, seed = random.bits()] {
    return with_mistake(cache_of(method, seed), canary);
  };
  engine_ = std::make_unique<engine::Engine>(
      Context{.threads = 1},
      std::make_unique<WitnessExecutor>(
          [this](StepPlace place, std::span<const engine::TokenDraw> draws) {
            fail(place, draws);
          }),
      make(), options(make));
}

void DrawnEngine::draw_texts() {
  const auto add = [&](std::vector<int32_t> tokens, int32_t more) {
    for (int32_t i = 0; i < more; ++i)
      tokens.push_back(random_.pick(2, WitnessExecutor::kVocab - 1));
    return tokens;
  };
  for (int i = 0; i < 4; ++i) {
    const bool goes_on = i > 0 && random_.one_in(3);  // a prefix that begins with another one
    prefixes_.push_back(goes_on ? add(prefixes_.back(), random_.pick(1, 6))
                                : add({}, random_.pick(1, 14)));
    if (std::ssize(prefixes_.back()) > kMostPrefix) prefixes_.back().resize(kMostPrefix);
  }
  for (int i = 0; i < 12; ++i) {
    const bool has_prefix = !random_.one_in(4);
    std::vector<int32_t> prompt;
    if (has_prefix) prompt = prefixes_[static_cast<size_t>(random_.pick(0, 3))];
    const int32_t more = random_.pick(has_prefix ? 0 : 1, kMostPrompt - kMostPrefix);
    texts_.emplace_back(add(std::move(prompt), more), kMostNew);
  }
}

engine::EngineOptions DrawnEngine::options(
    const std::function<std::unique_ptr<reuse::SequenceCache>()>& make) {
  using engine::Preemption;
  engine::EngineOptions options{.step_tokens = random_.pick(1, 48)};
  options.limits = {.max_batch = 1,
                    .max_sequence_tokens = kMostPrompt + kMostNew,
                    .prefix_tokens = kMostPrefixes * kMostPrefix,
                    .prefixes = kMostPrefixes};
  const auto blocks_needed = [&] {
    return static_cast<int32_t>(make()->pool_need(options.limits).num_blocks);
  };
  const int32_t least = blocks_needed();
  options.limits.max_batch = random_.pick(2, 6);
  const int32_t most = blocks_needed();
  options.num_blocks =
      random_.one_in(2) ? least : random_.pick(least, std::max(least, (least + most) / 2));
  options.watermark_ratio = 0.01 * random_.pick(0, 20);
  const std::vector<std::string> schedulers = engine::known_schedulers();
  const std::string& scheduler = random_.of(std::span<const std::string>(schedulers));
  options.scheduler =
      engine::make_scheduler(scheduler, {.most_wait_s = 1e-9 * random_.pick(0, 60)});
  options.clock_ns = [this] { return now_ns; };
  const Preemption kinds[] = {Preemption::kRecompute, Preemption::kSwapHost, Preemption::kSwapDisk,
                              Preemption::kSwapDisk};
  options.swap = {.preemption = random_.of(std::span<const Preemption>(kinds)),
                  // 32 bytes for each token
                  .most_bytes = random_.one_in(3) ? 32 * random_.pick(10, 60) : 0,
                  .folder = folder_.path()};
  return options;
}

void DrawnEngine::fail(StepPlace place, std::span<const engine::TokenDraw> draws) {
  if (counts_ == nullptr) return;
  if (random_.one_in(rarity_ * 60)) {
    ++(*counts_)["steps that failed"];
    throw StepLost(fmt::format("the simulated step failed at place {}", static_cast<int>(place)));
  }
  if (place == StepPlace::kBetween && random_.one_in(rarity_ * 200)) {
    ++(*counts_)["steps without memory"];
    throw std::bad_alloc();
  }
  if (place == StepPlace::kAfter && !draws.empty() && random_.one_in(rarity_ * 120)) {
    ++(*counts_)["steps with NaN"];
    throw engine::BadLogits(draws[0].request, 0);
  }
  if (place == StepPlace::kBetween && within_step) within_step();
}

void DrawnEngine::disturbed(Counts& counts, const std::function<void()>& action) {
  ++now_ns;
  const int64_t disk_failures = disk_.failures();
  const engine::SwapStats before = engine_->swap_stats();
  struct Armed {
    DrawnEngine& drawn;
    Armed(DrawnEngine& d, Counts& counts) : drawn(d) {
      drawn.counts_ = &counts;
      drawn.disk_.arm(40);
    }
    ~Armed() {
      drawn.disk_.arm(0);
      drawn.counts_ = nullptr;
    }
  };
  {
    const Armed armed(*this, counts);
    action();
  }
  const engine::SwapStats& after = engine_->swap_stats();
  counts["disk failures"] += disk_.failures() - disk_failures;
  counts["swapped out"] += after.swapped_out - before.swapped_out;
  counts["swapped in"] += after.swapped_in - before.swapped_in;
  counts["swap without room"] += after.full - before.full;
  counts["swap failures"] += after.failed - before.failed;
  check();
}

std::optional<engine::StepReport> DrawnEngine::step(Counts& counts) {
  std::optional<engine::StepReport> report;
  disturbed(counts, [&] {
    try {
      report = engine_->step();
    } catch (const StepLost&) {
    } catch (const std::bad_alloc&) {
    } catch (const engine::BadLogits&) {
    }
  });
  ++counts["steps"];
  if (report) counts["preemptions"] += report->preempted;
  return report;
}

void DrawnEngine::disturb(Counts& counts) {
  poison_free_blocks(engine_->pool());
  if (random_.one_in(30) && damage_a_file(folder_.path(), ".segment", random_)) {
    ++damaged_;
    ++counts["damaged files"];
  }
}

void DrawnEngine::check() const {
  const kv::BlockPool& pool = engine_->pool();
  int32_t used = 0;
  for (int32_t block = 0; block < pool.options().num_blocks; ++block)
    used += pool.users(block) > 0 ? 1 : 0;
  demand(used == pool.used_blocks(), "{} blocks have users and {} count as used", used,
         pool.used_blocks());
  const engine::SwapStats& swap = engine_->swap_stats();
  const int64_t most = engine_->options().swap.most_bytes;
  demand(swap.held_bytes >= 0 && (most == 0 || swap.held_bytes <= most),
         "{} swapped bytes are held, at most {} may be", swap.held_bytes, most);
  demand(swap.failed <= disk_.failures() + damaged_, "{} swaps failed of {} failures: {}",
         swap.failed, disk_.failures() + damaged_, swap.last_failure);
}

void DrawnEngine::check_end() {
  double retained = 0;
  engine_->cache().report([&](std::string_view name, double value, std::string_view) {
    if (name == "retained_kv_bytes") retained = value;
  });
  demand(static_cast<double>(engine_->pool().used_bytes()) == retained,
         "{} bytes are in use at the end, and {} are kept for later requests",
         engine_->pool().used_bytes(), retained);
  const engine::SwapStats& swap = engine_->swap_stats();
  demand(swap.held_sequences == 0 && swap.held_bytes == 0, "{} sequences are still swapped out",
         swap.held_sequences);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path()))
    demand(entry.is_directory(), "{} is left behind", entry.path().filename().string());
}

}  // namespace reprise::simulation
