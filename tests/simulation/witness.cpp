#include "tests/simulation/witness.h"

#include <algorithm>
#include <cstring>

#include "core/base/random.h"

namespace reprise::simulation {
namespace {

constexpr int64_t kLayers = 2, kHeadDim = 2;
constexpr int32_t kFirstToken = 2;  // smaller ids are for the beginning and the end of a text

uint32_t hash_of(uint64_t a, uint64_t b) { return static_cast<uint32_t>(random_bits(7, a, b)); }
uint32_t first_state(int32_t token, int64_t position) {
  return hash_of(static_cast<uint64_t>(token), static_cast<uint64_t>(position));
}
uint32_t second_state(uint32_t sum) { return hash_of(sum, 1000); }
int32_t token_of(uint32_t sum) {
  return kFirstToken +
         static_cast<int32_t>(hash_of(sum, 1001) % (WitnessExecutor::kVocab - kFirstToken));
}

// A key and a value of two elements each. The key's first element is the state, and the other three
// are computed from it, so that memory in which no state was written is recognized.
struct Stored {
  uint32_t key[kHeadDim], value[kHeadDim];

  explicit Stored(uint32_t state)
      : key{state, ~state}, value{state * 0x9e3779b1u, state ^ 0x5bd1e995u} {}
};

uint32_t* at(void* half, int64_t offset) { return static_cast<uint32_t*>(half) + offset; }

uint32_t state_at(const kv::CacheView& cache, int64_t offset) {
  const uint32_t* key = at(cache.keys, offset);
  const uint32_t* value = at(cache.values, offset);
  const Stored expected(key[0]);
  demand(std::equal(key, key + kHeadDim, expected.key) &&
             std::equal(value, value + kHeadDim, expected.value),
         "a row reads offset {}, where no state is (key {:x} {:x}, value {:x} {:x})", offset,
         key[0], key[1], value[0], value[1]);
  return key[0];
}

}  // namespace

WitnessExecutor::WitnessExecutor(StepFault fault) : fault_(std::move(fault)) {
  config_.name = "witness";
  config_.vocab = kVocab;
  config_.layers = kLayers;
  config_.heads = config_.kv_heads = 1;
  config_.head_dim = kHeadDim;
  config_.max_positions = 1 << 20;
}

void WitnessExecutor::write(const kv::AttentionPlan& plan, int64_t layer,
                            std::span<const uint32_t> states) const {
  const kv::CacheView& cache = plan.caches[0];
  for (size_t row = 0; row < states.size(); ++row) {
    if (plan.row_slots[row] == kv::kNoSlot) continue;
    const int64_t offset = plan.row_slots[row] + layer * cache.layer_stride;
    const Stored stored(states[row]);
    std::copy_n(stored.key, kHeadDim, at(cache.keys, offset));
    std::copy_n(stored.value, kHeadDim, at(cache.values, offset));
  }
}

std::vector<uint32_t> WitnessExecutor::read(const kv::AttentionPlan& plan, int64_t layer) const {
  std::vector<uint32_t> sums(static_cast<size_t>(plan.rows()));
  for (const kv::WorkItem& item : plan.items) {
    const kv::Segment& segment = plan.segment_of(item);
    const kv::CacheView& cache = plan.cache_of(segment);
    for (int32_t row = item.first_row; row < item.end_row; ++row) {
      const int32_t seen = item.mask == kv::Mask::kNone
                               ? segment.tokens
                               : std::min(segment.tokens, item.visible + row - item.first_row);
      for (int32_t token = 0; token < seen; ++token) {
        const int32_t place = segment.skipped + token;
        const auto block = static_cast<size_t>(segment.first_block + place / segment.block_tokens);
        sums[static_cast<size_t>(row)] +=
            state_at(cache, plan.block_offsets[block] + layer * cache.layer_stride +
                                (place % segment.block_tokens) * cache.head_dim);
      }
    }
  }
  return sums;
}

void WitnessExecutor::execute(const engine::StepWork& work, std::span<int32_t> tokens) {
  const kv::AttentionPlan& plan = work.plan;
  const auto rows = static_cast<size_t>(plan.rows());
  demand(rows == work.ids.size(), "a step of {} rows has {} tokens", rows, work.ids.size());
  fault_(StepPlace::kBefore, work.draws);
  std::vector<uint32_t> states(rows);
  for (size_t row = 0; row < rows; ++row)
    states[row] = first_state(work.ids[row], plan.row_positions[row]);
  write(plan, 0, states);
  std::vector<uint32_t> sums = read(plan, 0);
  fault_(StepPlace::kBetween, work.draws);
  std::transform(sums.begin(), sums.end(), states.begin(), second_state);
  write(plan, 1, states);
  sums = read(plan, 1);
  logits_.assign(work.logit_rows.size() * kVocab, 0.0f);
  for (size_t n = 0; n < work.logit_rows.size(); ++n) {
    const int32_t token = token_of(sums[static_cast<size_t>(work.logit_rows[n])]);
    logits_[n * kVocab + static_cast<size_t>(token)] = 1.0f;
  }
  fault_(StepPlace::kAfter, work.draws);
  for (size_t i = 0; i < work.draws.size(); ++i)
    tokens[i] = token_of(
        sums[static_cast<size_t>(work.logit_rows[static_cast<size_t>(work.draws[i].wanted)])]);
}

std::span<const float> WitnessExecutor::logits(int32_t n) const {
  return std::span(logits_).subspan(static_cast<size_t>(n) * kVocab, kVocab);
}

Text::Text(std::vector<int32_t> tokens, int32_t new_tokens) : prompt(std::move(tokens)) {
  const auto most = prompt.size() + static_cast<size_t>(new_tokens);
  uint32_t first_sum = 0, second_sum = 0;
  for (size_t i = 0; i < most; ++i) {
    if (i >= prompt.size()) continuation.push_back(followers.back());
    const int32_t token = i < prompt.size() ? prompt[i] : continuation.back();
    first_sum += first_state(token, static_cast<int64_t>(i));
    second_sum += second_state(first_sum);
    followers.push_back(token_of(second_sum));
  }
}

void poison_free_blocks(const kv::BlockPool& pool) {
  const kv::BlockPoolOptions& options = pool.options();
  const auto elements = static_cast<size_t>(options.layers * options.kv_heads *
                                            options.block_tokens * options.head_dim);
  for (int32_t block = 0; block < options.num_blocks; ++block) {
    if (pool.users(block) > 0) continue;
    const kv::CacheView view = pool.view();
    for (void* half : {view.keys, view.values})
      std::fill_n(at(half, pool.offset_of(block)), elements, 0xdeadbeef);
  }
}

}  // namespace reprise::simulation
