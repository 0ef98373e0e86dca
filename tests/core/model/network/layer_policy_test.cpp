#include "core/model/network/layer_policy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/base/error.h"
#include "tests/core/model/network/two_layers.h"
#include "tests/support/max_difference.h"
#include "tests/support/reference_decoder.h"
#include "tests/support/run_model.h"
#include "tests/support/tiny_models.h"

namespace reprise::model {
namespace {

using reprise::testing::counted;
using reprise::testing::max_difference;
using reprise::testing::OneSequence;
using reprise::testing::random_decoder;
using reprise::testing::ReferenceDecoder;
using reprise::testing::scaled_down;

// ---- A whole policy, which lets one layer do something else ----
class OneLayer final : public LayerPolicy {
 public:
  OneLayer(int64_t layer, LayerAction action) : layer_(layer), action_(action) {}
  LayerChoice choose(LayerInput& input) override {
    return {.action = input.layer() == layer_ ? action_ : LayerAction::kCompute};
  }

 private:
  int64_t layer_;
  LayerAction action_;
};

// Keeps the input and the map of each layer, step after step.
class Capture final : public LayerPolicy {
 public:
  struct Map {
    int64_t rows, keys;
    std::vector<float> values;
  };
  LayerChoice choose(LayerInput& input) override {
    const TensorView view = input.hidden();
    std::vector<float>& values = hidden[input.layer()];
    const size_t first = values.size();
    values.resize(first + static_cast<size_t>(view.elements()));
    convert(view.data, view.dtype, values.data() + first, DType::kF32, values.size() - first);
    return {.show_map = true};
  }
  void observe_map(int64_t layer, const kernels::MapView& map) override {
    const auto* values = static_cast<const float*>(map.data);
    maps[layer].push_back({map.rows, map.keys, {values, values + map.heads * map.rows * map.keys}});
  }
  std::map<int64_t, std::vector<float>> hidden;
  std::map<int64_t, std::vector<Map>> maps;  // maps of each layer, by step
};

// Reuses captured maps in some layers, in either dtype.
class Reuse final : public LayerPolicy {
 public:
  Reuse(const Capture& capture, int64_t heads, std::map<int64_t, int64_t> source,
        DType dtype = DType::kF32)
      : capture_(capture), heads_(heads), source_(std::move(source)), dtype_(dtype) {}
  size_t step = 0;
  LayerChoice choose(LayerInput& input) override {
    const auto found = source_.find(input.layer());
    if (found == source_.end()) return {};
    const Capture::Map& map = capture_.maps.at(found->second).at(step);
    held_ = Tensor(dtype_, {static_cast<int64_t>(map.values.size())});
    convert(map.values.data(), DType::kF32, held_.data(), dtype_, map.values.size());
    view_.map = kernels::contiguous_map(held_.data(), dtype_, heads_, map.rows, map.keys);
    return {.action = LayerAction::kReuseMap, .maps = {&view_, 1}};
  }

 private:
  const Capture& capture_;
  int64_t heads_;
  std::map<int64_t, int64_t> source_;  // layer -> layer whose map it reads
  DType dtype_;
  Tensor held_;
  kernels::RowMap view_;
};

// Layer 0 keeps its map, layer 1 shares it.
class Share final : public LayerPolicy {
 public:
  LayerChoice choose(LayerInput& input) override {
    if (input.layer() == 0) return {.keep_map = true};
    return {.action = LayerAction::kShareMap};
  }
};

template <typename BeforeStep>
std::vector<float> logits_with(Decoder& decoder, const std::vector<int32_t>& ids, int32_t chunk,
                               BeforeStep&& before_step) {
  OneSequence sequence(decoder.config(), ids);
  const auto tokens = static_cast<int32_t>(ids.size());
  const auto vocab = static_cast<size_t>(decoder.config().vocab);
  std::vector<float> logits;
  size_t number = 0;
  for (int32_t first = 0; first < tokens; first += chunk) {
    const int32_t rows = std::min(chunk, tokens - first);
    StepInput step = sequence.step(first, rows);
    const std::vector<int32_t> wanted = counted(rows);
    step.logit_rows = wanted;
    before_step(number++, step);
    logits.resize(logits.size() + static_cast<size_t>(rows) * vocab);
    decoder.forward(step, {.logits = std::span(logits).last(static_cast<size_t>(rows) * vocab)});
  }
  return logits;
}

auto with(LayerPolicy* policy) {
  return [policy](size_t, StepInput& step) { step.policy = policy; };
}

class Policies : public ::testing::TestWithParam<std::string> {
 protected:
  Context context_ = Context::machine();
  std::unique_ptr<Decoder> decoder_ = random_decoder(scaled_down(GetParam()), context_);
  std::vector<int32_t> ids_ = some_ids(13);
};

// Tests every block style, with the first and the last layer skipped, whole prompts and chunks.
TEST_P(Policies, SkippingMatchesTheReference) {
  const auto source = random_weights(decoder_->config(), 1);
  for (int64_t layer : {0, 1})
    for (LayerAction action : {LayerAction::kSkipAttention, LayerAction::kSkipBlock}) {
      ReferenceDecoder reference(decoder_->config(), *source);
      (action == LayerAction::kSkipBlock ? reference.without_block
                                         : reference.without_attention) = {layer};
      const std::vector<double> want = reference.logits(ids_, counted(13));
      OneLayer policy(layer, action);
      for (int32_t chunk : {13, 4, 1})
        EXPECT_LE(max_difference(logits_with(*decoder_, ids_, chunk, with(&policy)), want),
                  kTwoLayersBound)
            << "layer " << layer << " action " << static_cast<int>(action) << " chunk " << chunk;
    }
}

TEST_P(Policies, APolicyThatComputesChangesNoBit) {
  OneLayer policy(-1, LayerAction::kCompute);
  for (int32_t chunk : {13, 4})
    EXPECT_EQ(logits_with(*decoder_, ids_, chunk, with(&policy)),
              logits_with(*decoder_, ids_, chunk, with(nullptr)));
}

TEST_P(Policies, ReusingItsOwnMapsChangesNothing) {
  for (int32_t chunk : {13, 4, 1}) {
    const std::vector<float> want = logits_with(*decoder_, ids_, chunk, with(nullptr));
    Capture capture;
    EXPECT_LE(max_difference(logits_with(*decoder_, ids_, chunk, with(&capture)), want),
              kTwoLayersBound);
    // bf16 moves each weight by up to 2^-8 of itself, at random. So an attended value of up to 4
    // moves by less than 2^-8, and a logit, which is a sum of `hidden` such values with weights of
    // 1 / sqrt(hidden), moves by less than twice that in each of two layers. If the head is tied,
    // its weights are the embedding's, whose deviation is 1.
    const ModelConfig& config = decoder_->config();
    const double head_scale =
        config.tied_embeddings ? std::sqrt(static_cast<double>(config.hidden)) : 1.0;
    for (const auto& [dtype, bound] :
         {std::pair{DType::kF32, kTwoLayersBound}, {DType::kBF16, 0x1p-6 * head_scale}}) {
      Reuse reuse(capture, decoder_->config().heads, {{0, 0}, {1, 1}}, dtype);
      const auto got = logits_with(*decoder_, ids_, chunk, [&](size_t number, StepInput& step) {
        reuse.step = number;
        step.policy = &reuse;
      });
      EXPECT_LE(max_difference(got, want), bound) << name_of(dtype) << " chunk " << chunk;
    }
  }
}

TEST_P(Policies, SharingIsReusingTheEarlierLayersMap) {
  Capture capture;
  const std::vector<float> own = logits_with(*decoder_, ids_, 13, with(&capture));
  Reuse reuse(capture, decoder_->config().heads, {{1, 0}});
  Share share;
  const std::vector<float> shared = logits_with(*decoder_, ids_, 13, with(&share));
  EXPECT_LE(max_difference(shared, logits_with(*decoder_, ids_, 13, with(&reuse))),
            kTwoLayersBound);
  EXPECT_GT(max_difference(shared, own), 100 * kTwoLayersBound);  // another map makes a difference
}

INSTANTIATE_TEST_SUITE_P(Shapes, Policies, ::testing::ValuesIn(shipped_shapes()),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name)
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           return name;
                         });

// With a reused map no key is computed, so the layer's keys in the cache do not change.
TEST(LayerPolicy, ReusedMapsLeaveNoKeysInTheCache) {
  auto decoder = random_decoder(scaled_down("tinyllama-1.1b"), Context::machine());
  const ModelConfig& config = decoder->config();
  const std::vector<int32_t> ids = some_ids(13);
  Capture capture;
  (void)logits_with(*decoder, ids, 13, with(&capture));
  Reuse reuse(capture, config.heads, {{1, 1}});
  OneSequence sequence(config, ids);
  StepInput step = sequence.step(0, 13);
  step.policy = &reuse;
  decoder->forward(step, {});
  const kv::CacheView& cache = step.plan.caches[0];
  const auto is_zero = [&](const void* data, int64_t layer) {
    const auto* values = static_cast<const float*>(data) + layer * cache.layer_stride;
    return std::all_of(values, values + config.kv_heads * 13 * config.head_dim,
                       [](float value) { return value == 0.0f; });
  };
  EXPECT_FALSE(is_zero(cache.keys, 0));
  EXPECT_FALSE(is_zero(cache.values, 0));
  EXPECT_TRUE(is_zero(cache.keys, 1));
  EXPECT_FALSE(is_zero(cache.values, 1));
}

// The hidden states that a policy sees in layer 0 are the embedding after the input norm, whose
// random weights are 1.
TEST(LayerPolicy, HiddenStatesAreThoseAfterTheInputNorm) {
  auto decoder = random_decoder(scaled_down("tinyllama-1.1b"), Context::machine());
  const ModelConfig& config = decoder->config();
  const std::vector<int32_t> ids = some_ids(13);
  Capture capture;
  (void)logits_with(*decoder, ids, 4, with(&capture));
  const auto source = random_weights(config, 1);
  const TensorSpec embedding{{Part::kEmbedding}, config.vocab, config.hidden};
  ASSERT_EQ(capture.hidden.at(0).size(), 13u * static_cast<size_t>(config.hidden));
  for (size_t t = 0; t < ids.size(); ++t) {
    std::vector<float> row(static_cast<size_t>(config.hidden));
    source->read_rows(embedding, ids[t], ids[t] + 1, DType::kF32, row.data());
    double squares = 0.0;
    for (float value : row) squares += double{value} * value / static_cast<double>(row.size());
    for (size_t c = 0; c < row.size(); ++c)
      ASSERT_NEAR(capture.hidden.at(0)[t * row.size() + c],
                  row[c] / std::sqrt(squares + config.norm_epsilon), 1e-5);
  }
}

TEST(LayerPolicy, MapsOfAnotherModelAreErrorsAndTheDecoderRunsOn) {
  auto decoder = random_decoder(scaled_down("tinyllama-1.1b"), Context::machine());
  const std::vector<int32_t> ids = some_ids(13);
  Capture capture;
  const std::vector<float> want = logits_with(*decoder, ids, 13, with(&capture));
  Reuse reuse(capture, decoder->config().heads / 2, {{1, 1}});
  EXPECT_THROW((void)logits_with(*decoder, ids, 13, with(&reuse)), ShapeError);
  Capture again;
  EXPECT_EQ(logits_with(*decoder, ids, 13, with(&again)), want);
}

}  // namespace
}  // namespace reprise::model
