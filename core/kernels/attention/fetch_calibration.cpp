#include "core/kernels/attention/fetch_calibration.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/base/error.h"
#include "core/device/memory.h"
#include "core/kernels/attention/attention.h"
#include "core/kv/block_pool.h"

namespace reprise::kernels {
namespace {

constexpr int32_t kSequences = 8, kBlockTokens = 64, kBlocks = 16;  // kBlocks: of each sequence
constexpr int64_t kKvHeads = 8, kHeadDim = 128;
// All candidates take part in the first rounds. The default and the fastest ones take part in
// further rounds, because several are closer than the rounds' variation.
constexpr int kRounds = 5, kFinalRounds = 15;
constexpr size_t kFinalists = 4;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// All settings: far prefetch into either cache, with no near request, with loads, or with a second
// prefetch.
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

int64_t layer_bytes(DType dtype) {
  return int64_t{2} * kSequences * kBlocks * kBlockTokens * kKvHeads * kHeadDim *
         static_cast<int64_t>(size_of(dtype));
}

// Enough layers that a layer's keys have left all caches when it is read again; an L3 does not
// evict in order. (Zen 5: with only twice the L3, some settings seem 1.28 times as fast as in
// memory.)
int64_t layers_for(DType dtype) {
  const CpuFacts& cpu = cpu_facts();
  const int64_t wanted = 6 * std::max<int64_t>(cpu.l3_bytes * cpu.l3_instances, 32 << 20);
  return std::min(wanted, available_bytes() / 8) / layer_bytes(dtype);
}

// One decode step, run layer by layer.
class Step {
 public:
  Step(DType dtype, int64_t layers)
      : pool_({.layers = layers,
               .kv_heads = kKvHeads,
               .head_dim = kHeadDim,
               .dtype = dtype,
               .block_tokens = kBlockTokens,
               .num_blocks = kSequences * kBlocks}),
        q_(static_cast<size_t>(kSequences * kKvHeads * kHeadDim), 0.01f),
        out_(q_.size()) {
    plan_.begin(pool_.view());
    fill(pool_.view());
    for (int32_t sequence = 0; sequence < kSequences; ++sequence) {
      std::vector<int64_t> blocks;
      for (int32_t block = 0; block < kBlocks; ++block)
        blocks.push_back(pool_.offset_of(pool_.take()));
      const int32_t segment = plan_.add_segment(
          {.block_tokens = kBlockTokens, .tokens = kBlocks * kBlockTokens}, blocks);
      plan_.row_positions.push_back(kBlocks * kBlockTokens);
      plan_.row_lengths.push_back(kBlocks * kBlockTokens + 1);
      plan_.row_slots.push_back(kv::kNoSlot);
      plan_.add_item({.segment = segment, .first_row = sequence, .end_row = sequence + 1});
    }
    plan_.finish();
  }

  // Rate in GB/s at which the layer's keys and values are read.
  double read_gb_s(int64_t layer, const Context& context) {
    const QueryView q{.data = q_.data(), .row_stride = kKvHeads * kHeadDim, .heads = kKvHeads};
    const auto start = std::chrono::steady_clock::now();
    attention(plan_, layer, q, {.scale = 0.1f}, {.data = out_.data()}, workspace_, context);
    return 1e-9 * static_cast<double>(layer_bytes(pool_.options().dtype)) / seconds_since(start);
  }

 private:
  // Fills the cache with small normal numbers; their values do not affect the time.
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

struct Candidate {
  FetchSetting setting;
  std::vector<double> rates, speedups;  // [rounds]

  [[nodiscard]] double speedup() const { return median_of(speedups); }
};

// Runs the candidates in turn, the default first, so that each round compares like with like.
class Contest {
 public:
  Contest(DType dtype, int64_t layers, const Context& context)
      : dtype_(dtype), layers_(layers), context_(context), step_(dtype, layers) {
    for (const FetchSetting& setting : all_settings()) candidates_.push_back({.setting = setting});
  }

  // Returns all candidates, the default first, then by speed.
  std::vector<Candidate> run() {
    (void)rate_of(candidates_.front());  // grows the buffers
    play(kRounds, candidates_.size());
    const auto by_speed = [](const Candidate& a, const Candidate& b) {
      return a.speedup() > b.speedup();
    };
    std::stable_sort(candidates_.begin() + 1, candidates_.end(), by_speed);
    play(kFinalRounds, std::min(1 + kFinalists, candidates_.size()));
    return std::move(candidates_);
  }

 private:
  void play(int rounds, size_t count) {
    for (int round = 0; round < rounds; ++round) {
      double of_default = 0;
      for (size_t i = 0; i < count; ++i) {
        const double rate = rate_of(candidates_[i]);
        if (i == 0) of_default = rate;
        candidates_[i].rates.push_back(rate);
        candidates_[i].speedups.push_back(rate / of_default);
      }
    }
  }

  double rate_of(const Candidate& candidate) {
    layer_ = (layer_ + 1) % layers_;
    return step_.read_gb_s(layer_, with(context_, dtype_, candidate.setting));
  }

  DType dtype_;
  int64_t layers_;
  const Context& context_;
  Step step_;
  int64_t layer_ = 0;
  std::vector<Candidate> candidates_;
};

FetchChoice choice_of(const FetchCalibration& calibration) {
  FetchChoice choice{.chosen = text_of(calibration.chosen),
                     .reason = calibration.reason,
                     .trials = {},
                     .elapsed_s = calibration.elapsed_s};
  for (const FetchTrial& trial : calibration.trials)
    choice.trials.push_back({.setting = text_of(trial.setting),
                             .read_gb_s = trial.read_gb_s,
                             .speedup = trial.speedup,
                             .rounds = trial.rounds});
  return choice;
}

FetchSetting setting_of(const FetchChoice& choice, const char* dtype) {
  try {
    return parse_fetch(choice.chosen);
  } catch (const Error& error) {
    raise("the machine's facts and limits (machine.json): \"fetch.{}.chosen\": {}", dtype,
          error.what());
  }
}

}  // namespace

FetchCalibration calibrate_fetch(DType kv_dtype, const Context& context) {
  if (const auto given = given_fetch())
    return {.chosen = *given, .trials = {}, .reason = "REPRISE_FETCH says so", .elapsed_s = 0};
  const auto start = std::chrono::steady_clock::now();
  const int64_t layers = layers_for(kv_dtype);
  FetchCalibration calibration;
  if (layers < 2) {
    calibration.reason = "the default: too little memory to measure";
    return calibration;
  }
  for (const Candidate& one : Contest(kv_dtype, layers, context).run())
    calibration.trials.push_back({.setting = one.setting,
                                  .read_gb_s = median_of(one.rates),
                                  .speedup = one.speedup(),
                                  .rounds = static_cast<int>(one.rates.size())});
  const auto finalists_end =
      calibration.trials.begin() +
      static_cast<int64_t>(std::min(1 + kFinalists, calibration.trials.size()));
  const auto best = std::max_element(
      calibration.trials.begin(), finalists_end,
      [](const FetchTrial& a, const FetchTrial& b) { return a.speedup < b.speedup; });
  if (best->speedup > kLeastGain) {
    calibration.chosen = best->setting;
    calibration.reason = fmt::format("{:.2f} times as fast as the default", best->speedup);
  } else {
    calibration.reason =
        fmt::format("the default: none is more than {:.0f} % faster", 100 * (kLeastGain - 1));
  }
  calibration.elapsed_s = seconds_since(start);
  return calibration;
}

FetchChoices calibrate_fetch(const Context& context) {
  return {.bf16 = choice_of(calibrate_fetch(DType::kBF16, context)),
          .f32 = choice_of(calibrate_fetch(DType::kF32, context))};
}

Context with_calibration(Context context, const Machine& machine) {
  if (!machine.fetch) return context;
  context.fetch_bf16 = setting_of(machine.fetch->bf16, "bf16");
  context.fetch_f32 = setting_of(machine.fetch->f32, "f32");
  return context;
}

}  // namespace reprise::kernels
