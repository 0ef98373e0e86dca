// Prefill and decode rates of whole models at real shapes with random bf16 weights, beside the
// machine's limits.
//   model_bench --benchmark_filter=TinyLlama
//   model_bench --benchmark_filter=batch_invariance      the price of Context::is_batch_invariant
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "core/base/random.h"
#include "core/device/machine_probe.h"
#include "core/device/memory.h"
#include "core/engine/engine.h"
#include "methods/registry.h"
#include "tests/support/json.h"

namespace reprise {
namespace {

const Context kContext = Context::machine();

const MachineLimits& limits() {
  static const MachineLimits measured = probe_machine(kContext);
  return measured;
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0.0 : values[values.size() / 2];
}

// Measures the machine's limit right after each piece of work. Reports the median of the ratios, as
// the share of the limit.
class LimitBeside {
 public:
  // `gflop` or `gbyte` of one piece of work; the other is 0.
  LimitBeside(double gflop, double gbyte) : gflop_(gflop), gbyte_(gbyte) {}

  void add(double work_s) {
    static const MachineProbe probe(kContext);
    const double limit = probe.sample(gflop_ > 0 ? Limit::kBf16 : Limit::kDramRead);
    shares_.push_back((gflop_ > 0 ? gflop_ : gbyte_) / work_s / limit);
    limits_.push_back(limit);
  }
  void report(benchmark::State& state) const {
    state.counters["limit_share"] = median(shares_);
    state.counters[gflop_ > 0 ? "limit_gflop_s" : "limit_gb_s"] = median(limits_);
  }

 private:
  double gflop_, gbyte_;
  std::vector<double> shares_, limits_;
};

// Keeps only one model at a time, because two 7B models do not fit.
model::Decoder& decoder_of(const std::string& shape) {
  static std::string loaded;
  static std::unique_ptr<model::Decoder> decoder;
  if (loaded != shape) {
    decoder.reset();
    decoder = model::load_decoder(shape, {.dtype = DType::kBF16, .random_weights = true, .seed = 1},
                                  kContext);
    loaded = shape;
  }
  return *decoder;
}

std::vector<int32_t> prompt_of(const model::Decoder& decoder, int64_t tokens) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < tokens; ++i)
    ids.push_back(static_cast<int32_t>(random_bits(7, 0, static_cast<uint64_t>(i)) %
                                       static_cast<uint64_t>(decoder.config().vocab)));
  return ids;
}

engine::Engine make_engine(model::Decoder& decoder, int64_t tokens, int32_t chunk) {
  return {kContext,
          decoder,
          methods::make_cache("contiguous", {}),
          {.limits = {.max_batch = 1, .max_sequence_tokens = static_cast<int32_t>(tokens)},
           .kv_dtype = DType::kBF16,
           .step_tokens = chunk}};
}

// FLOPs of the matrices a token passes, and of causal attention over `context` keys on average.
double flops_per_token(const model::ModelConfig& c, double context, bool with_head) {
  const double matrices =
      static_cast<double>(c.parameters()) -
      static_cast<double>(c.vocab * c.hidden) * (c.tied_embeddings ? 1.0 : 2.0) +
      (with_head ? static_cast<double>(c.vocab * c.hidden) : 0.0);
  return 2.0 * matrices + 4.0 * static_cast<double>(c.layers * c.q_dim()) * context;
}

// Args: prompt tokens, prefill chunk.
void prefill(benchmark::State& state, const std::string& shape) {
  model::Decoder& decoder = decoder_of(shape);
  const int64_t tokens = state.range(0);
  engine::Engine engine = make_engine(decoder, tokens + 1, static_cast<int32_t>(state.range(1)));
  const std::vector<int32_t> prompt = prompt_of(decoder, tokens);
  int64_t id = 0;
  const auto run_once = [&] {
    engine.submit({.id = ++id, .prompt = prompt, .max_new_tokens = 1});
    engine.run();
  };
  run_once();  // creates the matrix products for this chunk size and touches the buffers
  LimitBeside limit(1e-9 *
                        flops_per_token(decoder.config(), static_cast<double>(tokens) / 2, false) *
                        static_cast<double>(tokens),
                    0.0);
  std::vector<double> times;
  for (auto _ : state) {
    times.push_back(seconds_of(run_once));
    state.SetIterationTime(times.back());
    limit.add(times.back());
  }
  state.counters["tokens/s"] = static_cast<double>(tokens) / median(times);
  limit.report(state);
}

// Args: prompt tokens. One step of one sequence.
void decode(benchmark::State& state, const std::string& shape) {
  model::Decoder& decoder = decoder_of(shape);
  const int64_t tokens = state.range(0);
  constexpr int32_t kMost = 768;
  engine::Engine engine = make_engine(decoder, tokens + kMost, 512);
  engine.submit({.id = 1, .prompt = prompt_of(decoder, tokens), .max_new_tokens = kMost});
  while (engine.step().events.empty()) {
  }
  const model::ModelConfig& c = decoder.config();
  const int64_t embedding = c.tied_embeddings ? 0 : c.vocab * c.hidden;  // one row of it is read
  LimitBeside limit(0.0, 1e-9 * (static_cast<double>(decoder.weight_bytes()) -
                                 2.0 * static_cast<double>(embedding) +
                                 4.0 * static_cast<double>(c.layers * c.kv_dim() * tokens)));
  std::vector<double> times;
  for (auto _ : state) {
    if (!engine.has_work()) state.SkipWithError("the sequence is full");
    times.push_back(seconds_of([&] { engine.step(); }));
    state.SetIterationTime(times.back());
    limit.add(times.back());
  }
  state.counters["tokens/s"] = 1.0 / median(times);
  limit.report(state);
  state.counters["peak_GB"] = static_cast<double>(peak_resident_bytes()) * 1e-9;
}

// An engine for `batch` sequences of `tokens` tokens, batch-invariant or not.
class PricedEngine {
 public:
  PricedEngine(const std::string& shape, bool is_batch_invariant, int32_t batch, int32_t tokens)
      : context_(context_of(is_batch_invariant)),
        decoder_(model::load_decoder(
            shape, {.dtype = DType::kBF16, .random_weights = true, .seed = 1}, context_)),
        engine_(context_, *decoder_, methods::make_cache("contiguous", {}),
                {.limits = {.max_batch = batch, .max_sequence_tokens = tokens},
                 .kv_dtype = DType::kBF16}) {}

  // Runs until `sequences` prompts of `tokens` tokens are computed.
  void begin(int32_t sequences, int32_t tokens, int32_t new_tokens) {
    for (int32_t i = 0; i < sequences; ++i)
      engine_.submit(
          {.id = ++id_, .prompt = prompt_of(*decoder_, tokens), .max_new_tokens = new_tokens});
    for (int32_t left = sequences * tokens; left > 0;) left -= engine_.step().prefill_tokens;
  }
  double step_s() {
    return seconds_of([&] { engine_.step(); });
  }

 private:
  static Context context_of(bool is_batch_invariant) {
    Context context = kContext;
    context.is_batch_invariant = is_batch_invariant;
    return context;
  }
  Context context_;
  std::unique_ptr<model::Decoder> decoder_;
  engine::Engine engine_;
  reuse::RequestId id_ = 0;
};

// Args: sequences that decode together, or 0 for prefill; tokens of each prompt. Times a step of
// the batch-invariant engine, and beside each a step of the usual engine. "price" is the median of
// the ratios of the two, "least" and "most" are their quartiles.
void batch_invariance(benchmark::State& state, const std::string& shape) {
  const auto sequences = static_cast<int32_t>(state.range(0));
  const auto tokens = static_cast<int32_t>(state.range(1));
  constexpr int32_t kMost = 64;
  const int32_t batch = std::max(1, sequences);
  PricedEngine usual(shape, false, batch, tokens + kMost);
  PricedEngine invariant(shape, true, batch, tokens + kMost);
  const auto time = [&](PricedEngine& engine) {
    if (sequences > 0) return engine.step_s();
    return seconds_of([&] { engine.begin(1, tokens, 1); });
  };
  for (PricedEngine* engine : {&usual, &invariant}) {
    if (sequences > 0) engine->begin(sequences, tokens, kMost);
    (void)time(*engine);
  }
  std::vector<double> times, ratios;
  for (auto _ : state) {
    const bool is_first = ratios.size() % 2 == 0;
    double usual_s = is_first ? 0.0 : time(usual);
    times.push_back(time(invariant));
    if (is_first) usual_s = time(usual);
    ratios.push_back(times.back() / usual_s);
    state.SetIterationTime(times.back());
  }
  std::sort(ratios.begin(), ratios.end());
  state.counters["tokens/s"] = (sequences > 0 ? sequences : tokens) / median(times);
  state.counters["price"] = median(ratios);
  state.counters["least"] = ratios[ratios.size() / 4];
  state.counters["most"] = ratios[ratios.size() * 3 / 4];
}

BENCHMARK_CAPTURE(batch_invariance, TinyLlama, "tinyllama-1.1b")
    ->Args({0, 512})
    ->Args({1, 256})
    ->Args({8, 256})
    ->Args({32, 256})
    ->Args({8, 2048})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(21)
    ->UseManualTime();
BENCHMARK_CAPTURE(prefill, TinyLlama, "tinyllama-1.1b")
    ->Args({512, 512})
    ->Args({4096, 512})
    ->Unit(benchmark::kMillisecond)
    ->MinTime(4.0)
    ->UseManualTime();
BENCHMARK_CAPTURE(decode, TinyLlama, "tinyllama-1.1b")
    ->Arg(64)
    ->Unit(benchmark::kMillisecond)
    ->MinTime(4.0)
    ->UseManualTime();
BENCHMARK_CAPTURE(prefill, Llama2_7B, "llama-2-7b")
    ->Args({128, 512})
    ->Unit(benchmark::kMillisecond)
    ->MinTime(4.0)
    ->UseManualTime();
BENCHMARK_CAPTURE(decode, Llama2_7B, "llama-2-7b")
    ->Arg(64)
    ->Unit(benchmark::kMillisecond)
    ->MinTime(4.0)
    ->UseManualTime();

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  const auto& limits = reprise::limits();
  benchmark::AddCustomContext("dram_read_gb_s", std::to_string(limits.dram_read_gb_s));
  benchmark::AddCustomContext("l3_read_gb_s", std::to_string(limits.l3_read_gb_s));
  benchmark::AddCustomContext("l2_read_gb_s", std::to_string(limits.l2_read_gb_s));
  benchmark::AddCustomContext("f32_gflop_s", std::to_string(limits.f32_gflop_s));
  benchmark::AddCustomContext("bf16_gflop_s", std::to_string(limits.bf16_gflop_s));
  benchmark::AddCustomContext("probe_s", std::to_string(limits.elapsed_s));
  benchmark::RunSpecifiedBenchmarks();
}
