// Compares BERT, RoBERTa and DeBERTa with hidden states that other people's code computed, and
// decoders that read whole texts with their own steps.
#include "core/model/network/encoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/model/network/layer_policy.h"
#include "tests/support/data.h"
#include "tests/support/json.h"
#include "tests/support/max_difference.h"
#include "tests/support/tiny_models.h"

namespace reprise::model {
namespace {

using reprise::testing::data_dir;
using reprise::testing::max_difference;
using reprise::testing::read_f32;

class GoldenEncoder : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    REPRISE_NEEDS_DATA();
    folder_ = data_dir() / "golden" / GetParam();
    const Json golden = read_json(folder_ / "golden.json");
    a_ = golden.at("a").get<std::vector<int32_t>>();
    b_ = golden.at("b").get<std::vector<int32_t>>();
    want_a_ = read_f32(folder_ / "hidden_a.f32");
    want_b_ = read_f32(folder_ / "hidden_b.f32");
  }

  std::vector<float> encode(Decoder& model, std::span<const EncoderText> texts,
                            LayerPolicy* policy = nullptr) {
    size_t tokens = 0;
    for (const EncoderText& text : texts) tokens += text.ids.size();
    std::vector<float> hidden(tokens * static_cast<size_t>(model.config().hidden));
    Encoder(model).encode({.texts = texts, .policy = policy}, hidden);
    return hidden;
  }

  std::filesystem::path folder_;
  Context context_ = Context::machine();
  std::vector<int32_t> a_, b_;
  std::vector<float> want_a_, want_b_;
};

TEST_P(GoldenEncoder, HiddenStatesMatchAloneAndTogether) {
  auto model = load_decoder(folder_, {.dtype = DType::kF32}, context_);
  const EncoderText a{.ids = a_}, b{.ids = b_};
  EXPECT_LE(max_difference(encode(*model, {{a}}), want_a_), 1e-4);
  EXPECT_LE(max_difference(encode(*model, {{b}}), want_b_), 1e-4);
  const std::vector<float> both = encode(*model, {{b, {}, a}});
  EXPECT_LE(max_difference(std::span(both).first(want_b_.size()), want_b_), 1e-4);
  EXPECT_LE(max_difference(std::span(both).subspan(want_b_.size()), want_a_), 1e-4);
}

// Hidden states are normed to about 1. bf16 rounds them, with errors of about 2^-9, some six times
// in each of three layers. Errors add up like a random walk, and the largest of 2,560 is about four
// deviations: 4 * sqrt(18) * 2^-9 * (values up to 3) = 0.1.
TEST_P(GoldenEncoder, Bf16StaysNear) {
  auto model = load_decoder(folder_, {.dtype = DType::kBF16}, context_);
  EXPECT_LE(max_difference(encode(*model, {{EncoderText{.ids = a_}}}), want_a_), 0.1);
}

// Skips the last layer's attention.
class SkipLast final : public LayerPolicy {
 public:
  LayerChoice choose(LayerInput& input) override {
    return {.action = input.layer() == 2 ? LayerAction::kSkipAttention : LayerAction::kCompute};
  }
};
// Reuses in every layer the map that this layer has shown before.
class Replay final : public LayerPolicy {
 public:
  LayerChoice choose(LayerInput& input) override {
    const auto layer = static_cast<size_t>(input.layer());
    if (layer >= maps_.size()) return {.show_map = true};
    view_.map = maps_[layer];
    view_.map.data = values_[layer].data();
    return {.action = LayerAction::kReuseMap, .maps = {&view_, 1}};
  }
  void observe_map(int64_t, const kernels::MapView& map) override {
    const auto* values = static_cast<const float*>(map.data);
    maps_.push_back(map);
    values_.emplace_back(values, values + map.heads * map.rows * map.keys);
  }

 private:
  std::vector<kernels::MapView> maps_;
  std::vector<std::vector<float>> values_;
  kernels::RowMap view_;
};

TEST_P(GoldenEncoder, PoliciesReachPostNormBlocks) {
  auto model = load_decoder(folder_, {.dtype = DType::kF32}, context_);
  const EncoderText a{.ids = a_};
  Replay replay;
  EXPECT_LE(max_difference(encode(*model, {{a}}, &replay), want_a_), 1e-4);  // shows its maps
  EXPECT_LE(max_difference(encode(*model, {{a}}, &replay), want_a_), 1e-4);  // reuses them
  SkipLast skip;
  EXPECT_GT(max_difference(encode(*model, {{a}}, &skip), want_a_), 1e-2);
}

TEST_P(GoldenEncoder, WhatTheModelDoesNotHaveIsNamed) {
  auto model = load_decoder(folder_, {.dtype = DType::kF32}, context_);
  const std::vector<int32_t> long_text(129, 5), types = {0, 7}, ids = {5, 6};
  if (model->config().position == PositionScheme::kLearned)
    expect_error([&] { (void)encode(*model, {{EncoderText{.ids = long_text}}}); },
                 {"position 128", "128"});
  expect_error([&] { (void)encode(*model, {{EncoderText{.ids = ids, .token_types = types}}}); },
               {"token type 7"});
}

TEST_P(GoldenEncoder, FirstAndLastTokensAreThoseOfAll) {
  auto model = load_decoder(folder_, {.dtype = DType::kF32}, context_);
  const EncoderText texts[] = {{.ids = b_}, {}, {.ids = a_}};
  const std::vector<float> all = encode(*model, texts);
  const auto width = static_cast<size_t>(model->config().hidden);
  for (const auto& [hidden_of, row_b, row_a] :
       {std::tuple{HiddenOf::kFirstToken, size_t{0}, b_.size()},
        std::tuple{HiddenOf::kLastToken, b_.size() - 1, b_.size() + a_.size() - 1}}) {
    std::vector<float> some(2 * width);
    Encoder(*model).encode({.texts = texts, .hidden_of = hidden_of}, some);
    EXPECT_LE(
        max_difference(std::span(some).first(width), std::span(all).subspan(row_b * width, width)),
        1e-5);
    EXPECT_LE(
        max_difference(std::span(some).last(width), std::span(all).subspan(row_a * width, width)),
        1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenEncoder,
                         ::testing::Values("bert", "roberta", "deberta-v1", "deberta-v3"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Distances beyond the table use the entries at its ends, so a text longer than the table can be
// computed.
TEST(Encoder, RelativePositionsGoOnBehindTheTable) {
  REPRISE_NEEDS_DATA();
  for (const char* name : {"deberta-v1", "deberta-v3"}) {
    auto model = load_decoder(data_dir() / "golden" / name, {}, Context::machine());
    const std::vector<int32_t> ids(300, 7);
    std::vector<float> hidden(ids.size() * static_cast<size_t>(model->config().hidden));
    const EncoderText text{.ids = ids};
    Encoder(*model).encode({.texts = {&text, 1}}, hidden);
    for (const float value : hidden) ASSERT_TRUE(std::isfinite(value)) << name;
  }
}

// In a decoder, the states of a text's beginning do not depend on the text that follows, nor on
// other texts in the step. Tests families with each kind of positions.
TEST(Encoder, DecodersSeeWhatIsNotBehind) {
  for (const char* shape : {"tinyllama-1.1b", "falcon-rw-1b", "mpt-7b", "phi-2"}) {
    SCOPED_TRACE(shape);
    auto model =
        reprise::testing::random_decoder(reprise::testing::scaled_down(shape), Context::machine());
    const auto width = static_cast<size_t>(model->config().hidden);
    const std::vector<int32_t> ids = {5, 9, 40, 41, 3, 3, 8}, other = {1, 2, 3};
    const EncoderText whole{.ids = ids}, begin{.ids = std::span(ids).first(4)},
        beside{.ids = other};
    std::vector<float> of_whole(ids.size() * width), of_begin(4 * width);
    Encoder encoder(*model);
    encoder.encode({.texts = {&whole, 1}}, of_whole);
    encoder.encode({.texts = {&begin, 1}}, of_begin);
    EXPECT_LE(max_difference(std::span(of_whole).first(4 * width), of_begin), 1e-4);
    std::vector<float> last(2 * width);
    const EncoderText both[] = {beside, whole};
    encoder.encode({.texts = both, .hidden_of = HiddenOf::kLastToken}, last);
    EXPECT_LE(max_difference(std::span(last).last(width), std::span(of_whole).last(width)), 1e-4);
  }
}

}  // namespace
}  // namespace reprise::model
