// Whole models on the device: their logits and tokens match the CPU's, step for step.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/device/memory.h"
#include "core/model/network/encoder.h"
#include "tests/core/kernels/device/cuda/device_context.h"
#include "tests/support/json.h"
#include "tests/support/max_difference.h"
#include "tests/support/reference_decoder.h"
#include "tests/support/run_model.h"
#include "tests/support/run_requests.h"
#include "tests/support/tiny_models.h"

namespace reprise::model {
namespace {

using reprise::testing::all_logits;
using reprise::testing::counted;
using reprise::testing::max_difference;
using reprise::testing::random_decoder;
using reprise::testing::ReferenceDecoder;
using reprise::testing::scaled_down;

constexpr int32_t kVocab = 104;

// One thread suffices for models this small.
Context one_thread() { return {.threads = 1, .isa = best_isa()}; }

constexpr DType kCache = DType::kF16;  // for comparisons with the CPU, because f16 rounds finest

// One shape of each family, so that every block style and every kind of positions is run, with head
// sizes for which the kernels are compiled.
struct Shape {
  const char* name;
  int64_t head_dim;
};
constexpr Shape kShapes[] = {{"llama-2-7b", 32},       {"llama-3-8b", 64}, {"mistral-7b", 32},
                             {"falcon-7b", 64},        {"falcon-40b", 32}, {"falcon-rw-1b", 64},
                             {"mpt-7b", 32},           {"mpt-30b", 64},    {"phi-2", 80},
                             {"qwen1.5-moe-a2.7b", 32}};

std::vector<int32_t> some_ids(int32_t count, int32_t seed = 3) {
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < count; ++i) ids.push_back((i * i * 7 + seed) % kVocab);
  return ids;
}

// With f32 weights and activations, the device's error is the rounding of queries, keys, values and
// softmax weights to the cache's type. Bf16StaysNearTheReference allows 0.28 for all roundings in
// bf16, of which those of attention are half; f16 rounds 8 times as finely.
double bound_of(DType cache) { return cache == DType::kBF16 ? 0.14 : 0.14 / 8; }

// Sizes are multiples of 8, for which matrix products are fast and certain to exist.
Json small_model(const char* shape, int64_t head_dim) {
  Json json = scaled_down(shape, head_dim);
  json["vocab_size"] = kVocab;
  for (const auto& [key, value] : {std::pair{"intermediate_size", 96},
                                   {"moe_intermediate_size", 40},
                                   {"shared_expert_intermediate_size", 56}})
    if (json.contains(key)) json[key] = value;
  return json;
}

class CudaModel : public reprise::testing::OnDevice {
 protected:
  void TearDown() override {
    decoder_.reset();
    OnDevice::TearDown();
  }
  Decoder& load(const Json& config, DType dtype) {
    decoder_ = random_decoder(config, context_, dtype);
    return *decoder_;
  }

  std::unique_ptr<Decoder> decoder_;
};

class CudaFamily : public CudaModel, public ::testing::WithParamInterface<Shape> {
 protected:
  [[nodiscard]] Json config() const { return small_model(GetParam().name, GetParam().head_dim); }
};

// With f32 weights and activations, the device's error is the rounding of queries, keys, values and
// softmax weights to the cache's type. The reference with these numbers rounded to bf16 has the
// same error; with f16 the error is an eighth of it. The bound is twice that, because both errors
// are maxima of random walks.
TEST_P(CudaFamily, LogitsMatchTheReferenceWholeAndInChunks) {
  Decoder& decoder = load(config(), DType::kF32);
  const std::vector<int32_t> ids = some_ids(23);
  ReferenceDecoder reference(decoder.config(), *random_weights(decoder.config(), 1));
  const std::vector<double> want = reference.logits(ids, counted(23));
  reference.cache_dtype = DType::kBF16;
  reference.bf16_products = true;
  const double loss = max_difference(reference.logits(ids, counted(23)), want);
  for (const DType cache : {DType::kBF16, DType::kF16})
    for (const int32_t chunk : {23, 1, 7})
      EXPECT_LE(max_difference(all_logits(decoder, ids, chunk, cache), want),
                2.0 * loss * (cache == DType::kBF16 ? 1.0 : 0.125))
          << "chunk " << chunk << ", cache in " << name_of(cache);
}

// The device rounds where the CPU does, so both deviate from the reference by the maximum of a
// random walk of the same length. One such maximum is at most twice the other.
TEST_P(CudaFamily, NarrowWeightsStayNearTheReferenceAndTheCpu) {
  Decoder& decoder = load(config(), DType::kBF16);
  const std::vector<int32_t> ids = some_ids(23);
  const std::vector<double> want =
      ReferenceDecoder(decoder.config(), *random_weights(decoder.config(), 1))
          .logits(ids, counted(23));
  const auto on_cpu = random_decoder(config(), one_thread(), DType::kBF16);
  const std::vector<float> cpu = all_logits(*on_cpu, ids, 23, DType::kBF16);
  const double deviation = max_difference(cpu, want);
  for (const int32_t chunk : {23, 1}) {
    const std::vector<float> got = all_logits(decoder, ids, chunk, DType::kBF16);
    EXPECT_LE(max_difference(got, want), 2.0 * deviation) << "chunk " << chunk;
    EXPECT_LE(max_difference(got, cpu), 3.0 * deviation) << "chunk " << chunk;
  }
  // f16 rounds 8 times as finely. (The random weights are bf16 values, which f16 holds as they
  // are.)
  Decoder& half = load(config(), DType::kF16);
  for (const int32_t chunk : {23, 1})
    EXPECT_LE(max_difference(all_logits(half, ids, chunk, DType::kF16), want), 2.0 * deviation / 8)
        << "f16, chunk " << chunk;
}

// CPU and device make the same codes, and f32 activations on the CPU show the error of bf16's
// rounding. 23 tokens are multiplied with codes as they are read, 130 tokens with expanded weights.
TEST_F(CudaModel, CodedWeightsGiveTheLogitsOfTheCpu) {
  const auto check = [&](const char* shape, WeightFormat format, int32_t tokens) {
    const auto load = [&](DType dtype, const Context& context) {
      const TempDir dir;
      dir.write("config.json", small_model(shape, 32).dump());
      return load_decoder(dir.path().string(),
                          {.dtype = dtype, .weight_format = format, .random_weights = true},
                          context);
    };
    const std::vector<int32_t> ids = some_ids(tokens);
    const auto logits = [&](Decoder& decoder) {
      return all_logits(decoder, ids, tokens, DType::kBF16);
    };
    const std::vector<float> want = logits(*load(DType::kF32, one_thread()));
    const double deviation = max_difference(logits(*load(DType::kBF16, one_thread())), want);
    decoder_ = load(DType::kBF16, context_);
    EXPECT_LE(max_difference(logits(*decoder_), want), 2.0 * deviation)
        << shape << " in " << name_of(format) << ", " << tokens << " tokens";
  };
  for (const char* shape : {"llama-2-7b", "qwen1.5-moe-a2.7b"})
    for (const WeightFormat format :
         {WeightFormat::kInt8, WeightFormat::kInt4, WeightFormat::kNf4, WeightFormat::kNf4Double})
      check(shape, format, 23);
  check("llama-2-7b", WeightFormat::kInt4, 130);
}

// The generated tokens of requests, and the logits from which each token was drawn.
struct Drawn {
  std::map<engine::RequestId, std::vector<int32_t>> tokens;
  std::map<std::pair<engine::RequestId, int32_t>, std::vector<float>> logits;
};

// Three requests that share a prefix, and a fourth request that joins later and shares nothing.
Drawn generate(Decoder& decoder, const std::string& method, const Context& context) {
  const std::vector<int32_t> prefix = some_ids(18);
  std::vector<reprise::testing::Arrival> arrivals;
  for (int32_t i = 0; i < 4; ++i) {
    engine::Request request{.id = i, .max_new_tokens = 5, .logits = engine::LogitsMode::kDrawn};
    if (i < 3) request.prompt = prefix;
    for (const int32_t id : some_ids(3 + i, 11 * i)) request.prompt.push_back(id);
    arrivals.push_back({.step = i < 3 ? 0 : 2, .request = request});
  }
  engine::Engine engine = reprise::testing::make_engine(decoder, {.name = method}, arrivals, 4, 64,
                                                        context, kCache, {prefix});
  Drawn drawn;
  engine.observe_logits([&](const engine::LogitsRow& row) {
    drawn.logits[{row.request, row.index}] = {row.logits.begin(), row.logits.end()};
  });
  drawn.tokens = run_requests(engine, arrivals, {prefix}).tokens;
  return drawn;
}

// Greedy tokens may differ at a step where two logits are nearly equal. All logits before this step
// are compared; at this step, the CPU's own two logits must lie within twice the bound.
void expect_alike(const Drawn& got, const Drawn& want, double bound, const std::string& what) {
  size_t compared = 0;
  for (const auto& [request, tokens] : want.tokens) {
    if (request < 0 || !got.tokens.contains(request)) continue;
    for (size_t i = 0; i < tokens.size(); ++i) {
      const auto index = static_cast<int32_t>(i);
      const std::vector<float>& cpu = want.logits.at({request, index});
      EXPECT_LE(max_difference(got.logits.at({request, index}), cpu), bound)
          << what << ": token " << i << " of request " << request;
      ++compared;
      const int32_t other = got.tokens.at(request).at(i);
      if (other == tokens[i]) continue;
      EXPECT_LE(cpu[static_cast<size_t>(tokens[i])] - cpu[static_cast<size_t>(other)], 2 * bound);
      break;
    }
  }
  EXPECT_GE(compared, 12u) << what << ": of 20";
}

TEST_F(CudaModel, EveryExactMethodGeneratesWhatTheCpuDoes) {
  const Json config = small_model("llama-3-8b", 32);
  Decoder& decoder = load(config, DType::kF32);
  const auto on_cpu = random_decoder(config, one_thread());
  for (const std::string& method : reprise::testing::exact_methods())
    expect_alike(generate(decoder, method, context_), generate(*on_cpu, method, one_thread()),
                 bound_of(kCache), method);
}

TEST_P(CudaFamily, SharedPlansGenerateWhatTheCpuDoes) {
  Decoder& decoder = load(config(), DType::kF32);
  const auto on_cpu = random_decoder(config(), one_thread());
  for (const char* method : {"paged", "chunk_attention"})
    expect_alike(generate(decoder, method, context_), generate(*on_cpu, method, one_thread()),
                 bound_of(kCache), method);
}

INSTANTIATE_TEST_SUITE_P(Shapes, CudaFamily, ::testing::ValuesIn(kShapes), [](const auto& param) {
  std::string name = param.param.name;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
});

// Steps of one row whose plan keeps its shape are recorded once and then replayed, with the same
// logits as when every kernel is started by itself.
TEST_F(CudaModel, DecodeStepsOfOneShapeAreReplayed) {
  Decoder& decoder = load(small_model("llama-2-7b", 32), DType::kBF16);
  const std::vector<int32_t> ids = some_ids(20);
  const std::vector<float> replayed = all_logits(decoder, ids, 1, DType::kBF16);
  EXPECT_GE(device_->graphs().replays(), 10);
  EXPECT_LE(device_->graphs().recordings(), 5);
  // One step of all 20 rows has another plan than the recorded steps, so nothing is replayed.
  const int64_t replays = device_->graphs().replays();
  const std::vector<float> whole = all_logits(decoder, ids, 20, DType::kBF16);
  EXPECT_EQ(device_->graphs().replays(), replays);
  EXPECT_LE(max_difference(replayed, whole), 0.28);
}

// Logits of a prompt computed token by token, with a paged cache of this block size.
std::vector<float> logits_in_blocks(Decoder& decoder, int64_t block_tokens,
                                    const Context& context) {
  engine::Engine engine(context, decoder,
                        methods::make_cache("paged", {{"block_tokens", block_tokens}}),
                        {.limits = {.max_batch = 1, .max_sequence_tokens = 48},
                         .kv_dtype = DType::kBF16,
                         .step_tokens = 1});
  std::vector<float> logits;
  engine.observe_logits([&](const engine::LogitsRow& row) {
    logits.insert(logits.end(), row.logits.begin(), row.logits.end());
  });
  engine.submit(
      {.id = 1, .prompt = some_ids(20), .max_new_tokens = 0, .logits = engine::LogitsMode::kAll});
  engine::require_served(engine.run());
  return logits;
}

// A cache may get the memory of an earlier cache that had the same size but other strides. Steps
// recorded with the earlier cache must not be replayed.
TEST_F(CudaModel, RecordedStepsAreOfOneLayoutOfTheCache) {
  load(small_model("llama-2-7b", 32), DType::kBF16);
  const std::vector<float> want = logits_in_blocks(*decoder_, 8, context_);
  decoder_.reset();
  open({});
  Decoder& decoder = load(small_model("llama-2-7b", 32), DType::kBF16);
  for (const int64_t block_tokens : {16, 16, 8, 8})
    EXPECT_LE(max_difference(logits_in_blocks(decoder, block_tokens, context_), want),
              block_tokens == 8 ? 0.0 : 0.28)
        << "blocks of " << block_tokens;
}

// A decoder that is loaded after another one was dropped gets the other's memory, but has other
// weights.
TEST_F(CudaModel, RecordedStepsAreOfOneDecoder) {
  const Json config = small_model("llama-2-7b", 32);
  std::map<uint64_t, std::vector<float>> first;
  for (int time = 0; time < 8; ++time)
    for (const uint64_t seed : {1, 2}) {
      decoder_.reset();
      decoder_ = random_decoder(config, context_, DType::kBF16, seed);
      const std::vector<float> logits = logits_in_blocks(*decoder_, 16, context_);
      const auto [at, is_new] = first.emplace(seed, logits);
      ASSERT_EQ(logits, at->second) << "load " << time << " of weights of seed " << seed;
    }
}

TEST_F(CudaModel, SampledTokensAreThoseOfTheSameLogitsOnTheCpu) {
  Decoder& decoder = load(small_model("llama-2-7b", 32), DType::kBF16);
  const engine::SamplingOptions sampling{.temperature = 0.8, .top_p = 0.9, .top_k = 20, .seed = 5};
  engine::Engine engine(context_, decoder, methods::make_cache("paged", {}),
                        {.limits = {.max_batch = 2, .max_sequence_tokens = 40},
                         .kv_dtype = DType::kBF16,
                         .step_tokens = 32});
  std::map<std::pair<engine::RequestId, int32_t>, int32_t> want;
  engine.observe_logits([&](const engine::LogitsRow& row) {
    want[{row.request, row.index}] = engine::sample(row.logits, sampling, row.request, row.index);
  });
  for (int32_t id = 0; id < 2; ++id)
    engine.submit({.id = id,
                   .prompt = some_ids(7, id),
                   .max_new_tokens = 12,
                   .sampling = sampling,
                   .logits = engine::LogitsMode::kDrawn});
  const std::vector<engine::TokenEvent> events = engine.run();
  engine::require_served(events);
  EXPECT_EQ(events.size(), 24u);
  for (const engine::TokenEvent& event : events)
    EXPECT_EQ(event.token, (want.at({event.request, event.index})));
}

// The logits from which three requests' tokens are drawn, with a cache that holds two of the
// sequences, or all.
Drawn crowded(Decoder& decoder, const Context& context, int32_t blocks, engine::SwapStats* stats) {
  engine::EngineOptions options{.limits = {.max_batch = 3, .max_sequence_tokens = 32},
                                .kv_dtype = kCache,
                                .step_tokens = 32,
                                .num_blocks = blocks,
                                .swap = {.preemption = engine::Preemption::kSwapHost}};
  engine::Engine engine(context, decoder, methods::make_cache("paged", {{"block_tokens", 8}}),
                        options);
  Drawn drawn;
  engine.observe_logits([&](const engine::LogitsRow& row) {
    drawn.logits[{row.request, row.index}] = {row.logits.begin(), row.logits.end()};
  });
  for (int32_t id = 0; id < 3; ++id)
    engine.submit({.id = id,
                   .prompt = some_ids(11, id),
                   .max_new_tokens = 18,
                   .logits = engine::LogitsMode::kDrawn});
  const std::vector<engine::TokenEvent> events = engine.run();
  engine::require_served(events);
  for (const engine::TokenEvent& event : events)
    if (event.has_token()) drawn.tokens[event.request].push_back(event.token);
  *stats = engine.swap_stats();
  return drawn;
}

// The states of a preempted sequence leave the device and return to other blocks.
TEST_F(CudaModel, PreemptedSequencesFindTheirStatesAgain) {
  Decoder& decoder = load(small_model("llama-3-8b", 32), DType::kF32);
  engine::SwapStats none, some;
  const Drawn want = crowded(decoder, context_, 12, &none);
  const Drawn got = crowded(decoder, context_, 8, &some);
  EXPECT_EQ(none.swapped_out, 0);
  EXPECT_GT(some.swapped_out, 0);
  EXPECT_EQ(some.swapped_in, some.swapped_out);
  EXPECT_EQ(some.lost + some.failed, 0);
  expect_alike(got, want, bound_of(kCache), "swapped");
}

TEST_F(CudaModel, HiddenStatesComeBackFromTheDevice) {
  const Json config = small_model("llama-2-7b", 32);
  Decoder& decoder = load(config, DType::kF32);
  const std::vector<int32_t> ids = some_ids(9), wanted = {0, 3, 8}, logit_rows = {3, 5};
  const auto hidden = static_cast<size_t>(decoder.config().hidden);
  ReferenceDecoder reference(decoder.config(), *random_weights(decoder.config(), 1));
  reference.cache_dtype = DType::kBF16;
  const std::vector<double> all = reference.hidden(ids, counted(9));
  kv::BlockPool pool({.layers = decoder.config().layers,
                      .kv_heads = decoder.config().kv_heads,
                      .head_dim = decoder.config().head_dim,
                      .dtype = DType::kBF16,
                      .block_tokens = 9,
                      .num_blocks = 1,
                      .runtime = device_});
  kv::AttentionPlan plan;
  plan.begin(pool.view());
  const std::vector<int32_t> positions = counted(9);
  const reuse::StepSequence part{
      .id = 0, .first_row = 0, .rows = 9, .first_token = 0, .positions = positions, .length = 9};
  reuse::append_rows(part, plan);
  for (int32_t row = 0; row < 9; ++row)
    plan.row_slots[static_cast<size_t>(row)] = pool.offset_of(0, row);
  reuse::append_contiguous_reads(part, pool.offset_of(0), plan);
  plan.finish();
  std::vector<float> states(wanted.size() * hidden), logits(logit_rows.size() * kVocab);
  decoder.forward({.ids = ids, .plan = plan, .logit_rows = logit_rows, .hidden_rows = wanted},
                  {.logits = logits, .hidden = states});
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_LE(
        max_difference(std::span(states).subspan(i * hidden, hidden),
                       std::span(all).subspan(static_cast<size_t>(wanted[i]) * hidden, hidden)),
        bound_of(DType::kBF16));
}

Json small_encoder(const std::string& type) {
  return {{"model_type", type},
          {"hidden_size", 128},
          {"num_hidden_layers", 3},
          {"num_attention_heads", 4},
          {"intermediate_size", 96},
          {"vocab_size", kVocab},
          {"max_position_embeddings", 64},
          {"type_vocab_size", 2},
          {"layer_norm_eps", 1e-12},
          {"hidden_act", "gelu"},
          {"pad_token_id", 1}};
}

// The last hidden states of all tokens of two texts that are computed in one step.
std::vector<float> encoded(Decoder& model) {
  const std::vector<int32_t> a = some_ids(29), b = some_ids(7, 5), types(a.size(), 1);
  const EncoderText texts[] = {{.ids = a, .token_types = types}, {.ids = b}};
  std::vector<float> hidden((a.size() + b.size()) * static_cast<size_t>(model.config().hidden));
  Encoder(model).encode({.texts = texts}, hidden);
  return hidden;
}

// With f32 weights the device rounds queries, keys, values and weights of attention to f16. The CPU
// in bf16 rounds these and everything else 8 times as coarsely; in bf16 both round alike.
TEST_F(CudaModel, EncodersReadTextsAsTheCpuDoes) {
  for (const char* type : {"bert", "roberta"}) {
    const Json config = small_encoder(type);
    const std::vector<float> want = encoded(*random_decoder(config, one_thread(), DType::kF32)),
                             cpu = encoded(*random_decoder(config, one_thread(), DType::kBF16));
    const double deviation = max_difference(cpu, want);
    EXPECT_LE(max_difference(encoded(load(config, DType::kF32)), want), deviation / 4) << type;
    EXPECT_LE(max_difference(encoded(load(config, DType::kBF16)), want), 2 * deviation) << type;
    EXPECT_LE(max_difference(encoded(load(config, DType::kF16)), want), deviation / 2) << type;
  }
}

// Computes layer 0 and keeps its map, shares the map with layer 1, and gives it to the other layers
// as a stored map. Records the hidden states, residuals and maps that it is shown.
class SharesOneMap final : public LayerPolicy {
 public:
  LayerChoice choose(LayerInput& input) override {
    const TensorView read = input.hidden();
    std::vector<float> values(static_cast<size_t>(read.elements()));
    convert(read.data, read.dtype, values.data(), DType::kF32, values.size());
    note(values);
    note(residual_of(input.residual()));
    if (input.layer() == 0) return {.keep_map = true, .show_map = true};
    if (input.layer() == 1) return {.action = LayerAction::kShareMap};
    return {.action = LayerAction::kReuseMap, .maps = {&stored_, 1}};
  }
  void observe_map(int64_t /*layer*/, const kernels::MapView& map) override {
    const auto* weights = static_cast<const float*>(map.data);
    map_.assign(weights, weights + map.heads * map.head_stride);
    note(map_);
    stored_.map = map;
    stored_.map.data = map_.data();
  }
  [[nodiscard]] bool reads_residual() const override { return true; }
  void passed(int64_t /*layer*/, BlockPoint /*point*/, const TensorView& residual) override {
    note(residual_of(residual));
  }
  [[nodiscard]] const std::vector<float>& seen() const { return seen_; }

 private:
  static std::span<const float> residual_of(const TensorView& view) {
    EXPECT_EQ(view.device, Device::kCpu);
    return {view.as<const float>(), static_cast<size_t>(view.elements())};
  }
  void note(std::span<const float> values) {
    seen_.insert(seen_.end(), values.begin(), values.end());
  }

  std::vector<float> seen_, map_;
  kernels::RowMap stored_;
};

// 70 tokens make rows of a map longer than a tile.
TEST_F(CudaModel, PoliciesSeeAndChooseWhatTheyDoOnTheCpu) {
  Json config = small_model("llama-3-8b", 64);
  config["num_hidden_layers"] = 3;
  const std::vector<int32_t> ids = some_ids(70);
  const EncoderText text{.ids = ids, .token_types = {}};
  const auto run = [&](Decoder& model) {
    SharesOneMap policy;
    std::vector<float> all(ids.size() * static_cast<size_t>(model.config().hidden));
    Encoder(model).encode({.texts = {&text, 1}, .policy = &policy}, all);
    all.insert(all.end(), policy.seen().begin(), policy.seen().end());
    return all;
  };
  const std::vector<float> want = run(*random_decoder(config, one_thread(), DType::kF32)),
                           cpu = run(*random_decoder(config, one_thread(), DType::kBF16));
  const double deviation = max_difference(cpu, want);
  EXPECT_LE(max_difference(run(load(config, DType::kF32)), want), deviation / 4);
  EXPECT_LE(max_difference(run(load(config, DType::kBF16)), want), 2 * deviation);
  EXPECT_LE(max_difference(run(load(config, DType::kF16)), want), deviation / 2);
}

TEST_F(CudaModel, AnEncoderOfRelativePositionsIsRefused) {
  Json config = small_encoder("deberta-v2");
  config["relative_attention"] = true;
  config["pos_att_type"] = {"p2c", "c2p"};
  config["position_biased_input"] = false;
  config["type_vocab_size"] = 0;
  expect_error([&] { (void)load(config, DType::kF32); }, {"relative positions", "cuda"});
}

TEST_F(CudaModel, AModelThatDoesNotFitIsNamedWithNeedAndHave) {
  // The device has already taken memory for itself, such as cuBLASLt's workspace.
  constexpr int64_t kForWeights = int64_t{100} << 20;
  open({.budget_bytes = device_->memory().used_bytes() + kForWeights});
  ASSERT_EQ(device_->available_bytes(), kForWeights);
  Json config = small_model("llama-2-7b", 32);
  config["intermediate_size"] = 100'000;  // 146 MiB in bf16, about half of that in codes
  try {
    (void)load(config, DType::kBF16);
    FAIL() << "no error";
  } catch (const MemoryError& error) {
    const std::string text = error.what();
    // The device can multiply by codes too.
    for (const char* part :
         {"the weights need", "are available on device cuda", "or --weight-format int8"})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

// The refusal comes before weights are read, and lists the head sizes that are compiled.
TEST_F(CudaModel, AHeadSizeThatIsNotCompiledIsRefused) {
  expect_error([&] { (void)load(small_model("llama-2-7b", 24), DType::kBF16); },
               {"head_dim 24", "32, 64, 80, 96, 128", "--device cpu"});
  const TempDir dir;
  dir.write("config.json", small_model("llama-2-7b", 24).dump());
  const LoadOptions options{.dtype = DType::kBF16, .random_weights = true};
  EXPECT_THROW(check_loadable(dir.path().string(), options, context_), ShapeError);
  EXPECT_NO_THROW(check_loadable(dir.path().string(), options, one_thread()));
}

TEST_F(CudaModel, AnF32CacheIsRefused) {
  Decoder& decoder = load(small_model("llama-2-7b", 32), DType::kF32);
  EXPECT_THROW((void)all_logits(decoder, some_ids(4), 4, DType::kF32), Error);
}

}  // namespace
}  // namespace reprise::model
