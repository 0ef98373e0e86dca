#include "tests/simulation/faulty_cache.h"

#include <utility>

namespace reprise::simulation {
namespace {

// Decides when the mistake is made: at every `every`-th chance.
class Mistake {
 public:
  explicit Mistake(int every) : every_(every) {}
  bool is_due() { return ++chances_ % every_ == 0; }

 private:
  int every_, chances_ = 0;
};

class SwappingRuns final : public reuse::Relocatable {
 public:
  explicit SwappingRuns(reuse::Relocatable& real) : real_(real) {}

  void locate(reuse::RequestId id, int32_t first_token, int32_t end_token,
              const kv::BlockPool& pool, std::vector<kv::TokenRun>& runs) const override {
    real_.locate(id, first_token, end_token, pool, runs);
    if (runs.size() >= 2 && runs[0].tokens == runs[1].tokens && mistake_.is_due())
      std::swap(runs[0].offset, runs[1].offset);
  }
  [[nodiscard]] int32_t lasting_tokens(reuse::RequestId id) const override {
    return real_.lasting_tokens(id);
  }
  void restored(reuse::RequestId id, int32_t first_token, int32_t end_token) override {
    real_.restored(id, first_token, end_token);
  }

 private:
  reuse::Relocatable& real_;
  // A sequence is located once when it goes out and once when it comes back; one of the two is made
  // wrong.
  mutable Mistake mistake_{2};
};

class FaultyCache final : public reuse::SequenceCache {
 public:
  FaultyCache(std::unique_ptr<reuse::SequenceCache> cache, Canary canary)
      : cache_(std::move(cache)), canary_(canary) {
    if (canary == Canary::kSwappedRuns && cache_->relocatable() != nullptr)
      relocatable_ = std::make_unique<SwappingRuns>(*cache_->relocatable());
  }

  [[nodiscard]] reuse::PoolNeed pool_need(const reuse::EngineLimits& limits) const override {
    return cache_->pool_need(limits);
  }
  void tune(const reuse::PlanSetting& setting) override { cache_->tune(setting); }
  [[nodiscard]] reuse::PrefixKeeper* prefix_keeper() override { return cache_->prefix_keeper(); }
  [[nodiscard]] reuse::Relocatable* relocatable() override {
    return relocatable_ != nullptr ? relocatable_.get() : cache_->relocatable();
  }

  reuse::Admission admit(const reuse::NewSequence& sequence, kv::BlockPool& pool) override {
    reuse::Admission admission = cache_->admit(sequence, pool);
    if (canary_ == Canary::kStaleReuse && admission.admitted &&
        admission.reused_tokens + 1 < std::ssize(sequence.tokens) && mistake_.is_due())
      ++admission.reused_tokens;
    return admission;
  }
  [[nodiscard]] int32_t tokens_in_cache(const reuse::NewSequence& sequence) const override {
    return cache_->tokens_in_cache(sequence);
  }
  void retire(reuse::RequestId id, kv::BlockPool& pool) override {
    if (canary_ == Canary::kLeakedBlock && pool.free_blocks() > 0 && mistake_.is_due())
      (void)pool.take();
    cache_->retire(id, pool);
  }
  [[nodiscard]] int32_t held_blocks(reuse::RequestId id) const override {
    return cache_->held_blocks(id);
  }

  [[nodiscard]] int64_t row_rank(reuse::RequestId id) const override {
    return cache_->row_rank(id);
  }
  [[nodiscard]] int32_t cached_tokens(reuse::RequestId id, int32_t tokens) const override {
    return cache_->cached_tokens(id, tokens);
  }
  bool reserve(reuse::StepBatch batch, kv::BlockPool& pool) override {
    return cache_->reserve(batch, pool);
  }
  bool advance(reuse::StepBatch batch, const kv::BlockPool& pool,
               kv::AttentionPlan& plan) override {
    return cache_->advance(batch, pool, plan);
  }
  void plan(reuse::StepBatch batch, const kv::BlockPool& pool, kv::AttentionPlan& plan) override {
    cache_->plan(batch, pool, plan);
  }
  void computed(reuse::StepBatch batch, kv::BlockPool& pool) override {
    cache_->computed(batch, pool);
    if (canary_ != Canary::kEarlyRelease || !mistake_.is_due()) return;
    for (int32_t block = 0; block < pool.options().num_blocks; ++block)
      if (pool.users(block) == 1) return pool.release(block);
  }
  void report(const reuse::MetricSink& sink) const override { cache_->report(sink); }

 private:
  std::unique_ptr<reuse::SequenceCache> cache_;
  Canary canary_;
  Mistake mistake_{5};
  std::unique_ptr<SwappingRuns> relocatable_;
};

}  // namespace

std::unique_ptr<reuse::SequenceCache> with_mistake(std::unique_ptr<reuse::SequenceCache> cache,
                                                   Canary canary) {
  const bool is_ours = canary == Canary::kLeakedBlock || canary == Canary::kEarlyRelease ||
                       canary == Canary::kStaleReuse || canary == Canary::kSwappedRuns;
  if (!is_ours) return cache;
  return std::make_unique<FaultyCache>(std::move(cache), canary);
}

}  // namespace reprise::simulation
