// Times the engine itself in a step: queue, scheduler, rows, plan, sampling and events around a
// model that takes no time.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "core/device/operation_log.h"
#include "core/engine/engine.h"
#include "core/engine/step_time_model.h"
#include "methods/registry.h"
#include "tests/support/json.h"
#include "tests/support/replay.h"

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

// All sequences decode, while `waiting` more wait in the queue.
void DecodeStep(benchmark::State& state, const char* method) {
  constexpr int32_t kNew = 2100, kPrompt = 200;
  const auto batch = static_cast<int32_t>(state.range(0));
  FreeDecoder decoder;
  Engine engine({.threads = 1, .isa = best_isa()}, decoder, methods::make_cache(method, {}),
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

// Processor time of this thread in seconds; other programs on the machine do not count.
double thread_s() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// A full batch and a long queue, as in a server under load: in every step some sequences end,
// others join, and new requests come. Reports the processor time of a step that computes nothing.
// The time of submit() is not in it; a counter of its own reports that.
void ServingStep(benchmark::State& state, const std::string& policy, const char* method,
                 const char* method_options) {
  const testing::ReplayTrace trace{
      .head_tokens = 1024, .most_own_tokens = 512, .most_new_tokens = 256};
  const auto clock = std::make_shared<VirtualClock>();
  EngineOptions options = testing::replay_options(trace, clock, policy);
  options.limits.max_batch = 256;
  options.step_tokens = 4096;  // with less, most sequences would wait for their prompts
  Engine engine(
      {.threads = 1},
      std::make_unique<StepTimeModel>(testing::replay_config(), StepTimes{.step_s = 60e-3}, clock),
      methods::make_cache(method, Json::parse(method_options)), options);
  int64_t next = 0, submitted_ns = 0, submitted = 0;
  const auto fill = [&](int64_t waiting) {
    for (; waiting < state.range(0); ++waiting, ++submitted) {
      Request request = trace.request(next++, clock->now_ns());
      const auto begin = std::chrono::steady_clock::now();
      engine.submit(std::move(request));
      submitted_ns += (std::chrono::steady_clock::now() - begin).count();
    }
  };
  fill(-256);
  for (int64_t step = 0; step < 500; ++step) fill(engine.step().waiting);  // until some end
  submitted_ns = submitted = 0;
  int64_t batch = 0;
  for (auto _ : state) {
    const double begin_s = thread_s();
    const StepReport report = engine.step();
    state.SetIterationTime(thread_s() - begin_s);
    batch += report.batch;
    fill(report.waiting);
  }
  state.counters["batch"] =
      benchmark::Counter(static_cast<double>(batch), benchmark::Counter::kAvgIterations);
  state.counters["submit_us"] = static_cast<double>(submitted_ns) * 1e-3 /
                                static_cast<double>(std::max<int64_t>(1, submitted));
}

// 10^4 to 10^6 requests: the cost of one request must not grow with their number.
void Replay(benchmark::State& state, const std::string& policy) {
  for (auto _ : state) {
    const testing::ReplayTrace trace{.requests = state.range(0), .rate_rps = 1400};
    const auto clock = std::make_shared<VirtualClock>();
    Engine engine = testing::replay_engine(trace, clock, policy);
    const testing::ReplayCount count = testing::replay(engine, *clock, trace);
    state.counters["most_waiting"] = static_cast<double>(count.most_waiting);
    state.counters["steps"] = static_cast<double>(count.steps);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_rss_mib"] = static_cast<double>(usage.ru_maxrss) / 1024;
  state.counters["per_request"] =
      benchmark::Counter(static_cast<double>(state.range(0)),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// Time that recording a trace adds to each kernel.
void TracedOperation(benchmark::State& state) {
  OperationLog log(1 << 17);
  Context context;
  context.operations = &log;
  for (auto _ : state) const OperationSpan span(context, "norm");
}
BENCHMARK(TracedOperation);

void register_serving() {
  struct Case {
    const char *method, *options;
  };
  for (const std::string& policy : known_schedulers()) {
    for (const Case& c : {Case{"paged", "{}"}, Case{"chunk_attention", "{}"},
                          Case{"chunk_attention", R"({"reuse_prefill": true, "retain": true})"}})
      benchmark::RegisterBenchmark(("ServingStep/" + policy + "/" + c.method + c.options).c_str(),
                                   ServingStep, policy, c.method, c.options)
          ->ArgName("waiting")
          ->Arg(10000)
          ->Iterations(1000)
          ->UseManualTime()
          ->Unit(benchmark::kMicrosecond);
    benchmark::RegisterBenchmark(("Replay/" + policy).c_str(), Replay, policy)
        ->ArgName("requests")
        ->Arg(10'000)
        ->Arg(100'000)
        ->Arg(1'000'000)
        ->Iterations(1)
        ->Unit(benchmark::kSecond);
  }
}

}  // namespace
}  // namespace reprise::engine

int main(int argc, char** argv) {
  reprise::engine::register_serving();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
