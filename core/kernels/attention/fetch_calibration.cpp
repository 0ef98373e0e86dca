#include "core/kernels/attention/fetch_calibration.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/base/steady_now.h"
#include "core/kernels/attention/attention.h"
#include "core/kv/block_pool.h"

namespace reprise::kernels {
namespace {

constexpr int32_t kSequences = 8, kBlockTokens = 64;
constexpr int64_t kKvHeads = 8, kHeadDim = 128;

// Bytes of keys and values that each thread reads in one layer. Reading them takes hundreds of
// microseconds, so starting the threads hardly counts, and all trials together take tenths of a
// second.
constexpr int64_t kBytesOfThread = 4 << 20;

// All settings to compare: the far prefetch goes into L1 or L2, and there is no near request, a
// near load, or a second prefetch.
std::vector<FetchSetting> all_settings() {
  using Level = FetchSetting::Level;
  using Near = FetchSetting::Near;
  constexpr std::pair<int, Near> kNearRows[] = {
      {0, Near::kLoad}, {2, Near::kLoad}, {2, Near::kPrefetch}, {4, Near::kPrefetch}};
  std::vector<FetchSetting> all = {FetchSetting{}};
  for (const Level level : {Level::kL1, Level::kL2})
    for (const int far_kib : {3, 6, 12, 24})
      for (const auto& [near_kib, near] : kNearRows) {
        const FetchSetting one{
            .level = level, .far_bytes = far_kib << 10, .near_bytes = near_kib << 10, .near = near};
        if (near_kib < far_kib && one != all.front()) all.push_back(one);
      }
  return all;
}

// `blocks` is the number of blocks of each sequence.
kv::BlockPoolOptions pool_options(DType dtype, int64_t layers, int32_t blocks) {
  return {.layers = layers,
          .kv_heads = kKvHeads,
          .head_dim = kHeadDim,
          .dtype = dtype,
          .block_tokens = kBlockTokens,
          .num_blocks = kSequences * blocks};
}

// A decode step whose layers' attention is run one by one.
class Step {
 public:
  // `blocks` is the number of blocks of each sequence.
  Step(DType dtype, int64_t layers, int32_t blocks)
      : pool_(pool_options(dtype, layers, blocks)),
        q_(static_cast<size_t>(kSequences * kKvHeads * kHeadDim), 0.01f),
        out_(q_.size()) {
    plan_.begin(pool_.view());
    fill(pool_.view());
    for (int32_t sequence = 0; sequence < kSequences; ++sequence) {
      std::vector<int64_t> offsets;
      for (int32_t block = 0; block < blocks; ++block)
        offsets.push_back(pool_.offset_of(pool_.take()));
      const int32_t segment = plan_.add_segment(
          {.block_tokens = kBlockTokens, .tokens = blocks * kBlockTokens}, offsets);
      plan_.row_positions.push_back(blocks * kBlockTokens);
      plan_.row_lengths.push_back(blocks * kBlockTokens + 1);
      plan_.row_slots.push_back(kv::kNoSlot);
      plan_.add_item({.segment = segment, .first_row = sequence, .end_row = sequence + 1});
    }
    plan_.finish();
  }

  // Runs one layer's attention and returns the rate in GB/s at which it read the layer's keys and
  // values.
  double read_gb_s(int64_t layer, const Context& context) {
    const kv::BlockPoolOptions& options = pool_.options();
    const int64_t read_bytes = pool_.block_bytes() / options.layers * options.num_blocks;
    const QueryView q{.data = q_.data(), .row_stride = kKvHeads * kHeadDim, .heads = kKvHeads};
    const int64_t begin_ns = steady_now_ns();
    attention(plan_, layer, q, {.scale = 0.1f}, {.data = out_.data()}, workspace_, context);
    return 1e-9 * static_cast<double>(read_bytes) / seconds_since(begin_ns);
  }

 private:
  // Fills the KV cache with small normal numbers. Their values do not affect the time.
  void fill(const kv::CacheView& cache) const {
    const auto bytes = static_cast<size_t>(pool_.block_bytes() / 2 * pool_.options().num_blocks);
    std::memset(cache.keys, 0x3c, bytes);
    std::memset(cache.values, 0x3c, bytes);
  }

  kv::BlockPool pool_;
  kv::AttentionPlan plan_;
  std::vector<float> q_, out_;
  AttentionWorkspace workspace_;
};

Context with(Context context, DType dtype, const FetchSetting& setting) {
  (dtype == DType::kBF16 ? context.fetch_bf16 : context.fetch_f32) = setting;
  return context;
}

}  // namespace

Calibration<FetchSetting> calibrate_fetch(DType kv_dtype, const Context& context) {
  if (const auto given = given_fetch())
    return {.chosen = *given, .trials = {}, .reason = "REPRISE_FETCH says so"};
  const int64_t most = bytes_beyond_caches(context.threads);
  // Bytes of a layer in which each sequence has one block.
  const int64_t row = kSequences * kv::block_bytes(pool_options(kv_dtype, 1, 1));
  const auto blocks = static_cast<int32_t>(
      std::max<int64_t>(1, std::min(kBytesOfThread * context.threads, most / 8) / row));
  const int64_t layers = most / (blocks * row);
  if (layers < 2)
    return {.chosen = {}, .trials = {}, .reason = "the default: too little memory to measure"};
  Step step(kv_dtype, layers, blocks);
  int64_t layer = 0;
  return hold_contest(all_settings(), [&](const FetchSetting& setting) {
    layer = (layer + 1) % layers;
    return step.read_gb_s(layer, with(context, kv_dtype, setting));
  });
}

}  // namespace reprise::kernels
