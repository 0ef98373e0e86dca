// What the engine itself costs in a step: queue, scheduler, rows, plan, sampling and events around
// a model that takes no time.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/engine/engine.h"
#include "methods/registry.h"

namespace reprise::engine {
namespace {

class FreeDecoder final : public model::Decoder {
 public:
  FreeDecoder() {
    config_.name = "free";
    config_.vocab = 8;
    config_.layers = config_.heads = config_.kv_heads = config_.head_dim = 1;
  }
  [[nodiscard]] const model::ModelConfig& config() const override { return config_; }
  [[nodiscard]] DType dtype() const override { return DType::kF32; }
  [[nodiscard]] int64_t weight_bytes() const override { return 0; }
  void forward(const model::StepInput&, const model::StepOutput& output) override {
    std::fill(output.logits.begin(), output.logits.end(), 0.0f);
  }

 private:
  model::ModelConfig config_;
};

// All sequences decode, `waiting` more stand in the queue.
void DecodeStep(benchmark::State& state, const char* method) {
  constexpr int32_t kNew = 2100, kPrompt = 200;
  const auto batch = static_cast<int32_t>(state.range(0));
  FreeDecoder decoder;
  Engine engine({.threads = 1, .isa = best_isa()}, decoder, methods::make_method(method, {}),
                {.limits = {.max_batch = batch, .max_sequence_tokens = kPrompt + kNew},
                 .step_tokens = 1 << 20});
  for (int64_t id = 0; id < batch + state.range(1); ++id) {
    Request request{.id = id, .prompt = std::vector<int32_t>(kPrompt, 1), .max_new_tokens = kNew};
    request.prompt.back() = static_cast<int32_t>(id % 8);
    engine.submit(std::move(request));
  }
  (void)engine.step();
  (void)engine.step();
  for (auto _ : state) benchmark::DoNotOptimize(engine.step().events.size());
  state.counters["per_sequence"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * batch,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(DecodeStep, contiguous, "contiguous")
    ->ArgNames({"batch", "waiting"})
    ->Args({32, 0})
    ->Args({256, 0})
    ->Args({256, 10000})
    ->Iterations(2000)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(DecodeStep, chunk_attention, "chunk_attention")
    ->ArgNames({"batch", "waiting"})
    ->Args({32, 0})
    ->Args({256, 0})
    ->Args({256, 10000})
    ->Iterations(2000)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace reprise::engine

BENCHMARK_MAIN();
