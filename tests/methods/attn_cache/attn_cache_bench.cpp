// Times a hit of AttnCache (with retrieval and loading) beside the same prompt computed in full,
// and the cost of a lookup that misses. The model has two layers of a real shape, in bf16 with
// random weights, and the prompts have the lengths of the paper's table 3. Times are medians of
// interleaved runs.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "core/base/json.h"
#include "core/model/network/layer_times.h"
#include "tests/methods/attn_cache/database_testing.h"
#include "tests/support/json.h"

namespace reprise::attn_cache {
namespace {

constexpr int64_t kLayers = 2;
constexpr const char* kShapes[] = {"llama-3.2-3b", "llama-2-7b"};
constexpr const char* kForms[] = {"bf16", "u8"};

Json shape_of(int64_t index) {
  Json json = read_json(std::filesystem::path(REPRISE_SOURCE_DIR) / "models" / "shapes" /
                        (std::string(kShapes[index]) + ".json"));
  json["num_hidden_layers"] = kLayers;
  json["vocab_size"] = 97;  // the ids of some_prompt(); the head is not used
  for (const char* key : {"bos_token_id", "eos_token_id"}) json[key] = 1;
  return json;
}

// Times of a step in milliseconds.
struct Taken {
  double all = 0, choosing = 0, attention = 0, feed_forward = 0;
};

Taken run(Fixture& fixture, std::span<const int32_t> ids, model::LayerPolicy* policy) {
  model::LayerTimes times(kLayers, policy);
  reprise::testing::OneSequence sequence(fixture.decoder->config(), ids, DType::kBF16);
  const auto tokens = static_cast<int32_t>(ids.size());
  const std::vector<int32_t> last = {tokens - 1};
  model::StepInput step = sequence.step(0, tokens);
  step.hidden_rows = last;
  step.policy = &times;
  std::vector<float> hidden(static_cast<size_t>(fixture.facts.hidden));
  const auto begin = std::chrono::steady_clock::now();
  fixture.decoder->forward(step, {.hidden = hidden});
  const std::chrono::duration<double, std::milli> all = std::chrono::steady_clock::now() - begin;
  Taken taken{.all = all.count()};
  for (const model::LayerTime& layer : times.layers()) {
    taken.choosing += static_cast<double>(layer.choosing_ns) * 1e-6;
    taken.attention += static_cast<double>(layer.attention_ns) * 1e-6;
    taken.feed_forward += static_cast<double>(layer.feed_forward_ns) * 1e-6;
  }
  return taken;
}

double median_of(const std::vector<Taken>& runs, double Taken::*part) {
  std::vector<double> values;
  for (const Taken& taken : runs) values.push_back(taken.*part);
  std::nth_element(values.begin(), values.begin() + std::ssize(values) / 2, values.end());
  return values[values.size() / 2];
}

// Args: shape, tokens, form of the maps.
void Hit(benchmark::State& state) {
  Fixture fixture(shape_of(state.range(0)), DType::kBF16);
  const auto tokens = static_cast<int32_t>(state.range(1));
  const AttnCacheOptions options{.threshold = 1.0, .map_form = kForms[state.range(2)]};
  const std::vector<std::vector<int32_t>> prompts = {reprise::testing::some_prompt(tokens, 1),
                                                     reprise::testing::some_prompt(tokens, 2)};
  const auto database = fixture.build(options, prompts);
  AttnCachePolicy policy(database, options, fixture.facts, fixture.context);
  AttnCacheOptions above = options;
  above.threshold = 2.0;
  AttnCachePolicy misses(database, above, fixture.facts, fixture.context);
  (void)run(fixture, prompts[0], &policy);  // checks the maps, which happens on first use
  std::vector<Taken> full, hit, miss;
  for (auto _ : state) {
    full.push_back(run(fixture, prompts[0], nullptr));
    hit.push_back(run(fixture, prompts[0], &policy));
    miss.push_back(run(fixture, prompts[0], &misses));
    state.SetIterationTime(hit.back().all * 1e-3);
  }
  if (policy.counts().hits != std::ssize(hit) + 1) state.SkipWithError("a stored prompt missed");
  const double attention = median_of(full, &Taken::attention) + median_of(full, &Taken::choosing);
  state.counters["full_ms"] = median_of(full, &Taken::all);
  state.counters["full_attn_ms"] = attention;
  state.counters["hit_attn_ms"] = median_of(hit, &Taken::attention);
  state.counters["choose_ms"] = median_of(hit, &Taken::choosing);
  state.counters["ff_ms"] = median_of(hit, &Taken::feed_forward);
  state.counters["attn_x"] =
      attention / (median_of(hit, &Taken::attention) + median_of(hit, &Taken::choosing));
  state.counters["all_x"] = median_of(full, &Taken::all) / median_of(hit, &Taken::all);
  state.counters["miss_cost"] = median_of(miss, &Taken::all) / median_of(full, &Taken::all) - 1.0;
  state.SetLabel(std::string(kShapes[state.range(0)]) + " " + kForms[state.range(2)]);
}

void cases(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"shape", "n", "form"})->Unit(benchmark::kMillisecond)->UseManualTime();
  for (const int64_t shape : {0, 1}) {
    for (const int64_t n : {94, 179, 285, 393, 490, 560}) bench->Args({shape, n, 0});
    bench->Args({shape, 560, 1});
  }
}
BENCHMARK(Hit)->Apply(cases)->Iterations(15);

}  // namespace
}  // namespace reprise::attn_cache

BENCHMARK_MAIN();
