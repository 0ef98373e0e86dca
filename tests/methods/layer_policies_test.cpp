#include "methods/layer_policies/layer_rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "core/base/error.h"
#include "core/model/network/layer_times.h"
#include "core/model/network/policy_chain.h"
#include "methods/layer_policies/layer_similarity.h"
#include "tests/support/json.h"
#include "tests/support/max_difference.h"
#include "tests/support/policy_run.h"
#include "tests/support/tiny_models.h"

namespace reprise::model {
namespace {

using reprise::testing::hidden_with;
using reprise::testing::max_difference;
using reprise::testing::random_decoder;
using reprise::testing::scaled_down;
using reprise::testing::some_prompt;

std::unique_ptr<Decoder> six_layers(const std::string& shape = "tinyllama-1.1b") {
  Json json = scaled_down(shape);
  json["num_hidden_layers"] = 6;
  return random_decoder(json, Context::machine());
}

// A policy that acts by a function of the layer's number, and records what it is asked and told.
class Scripted final : public LayerPolicy {
 public:
  using Script = std::function<LayerAction(int64_t)>;
  explicit Scripted(Script script) : script_(std::move(script)) {}
  LayerChoice choose(LayerInput& input) override {
    asked.push_back(input.layer());
    return {.action = script_(input.layer())};
  }
  void passed(int64_t layer, BlockPoint point, const TensorView& residual) override {
    points.emplace_back(layer, point);
    rows = residual.shape[0];
  }
  void overruled(int64_t layer) override { overruled_layers.push_back(layer); }

  std::vector<int64_t> asked, overruled_layers;
  std::vector<std::pair<int64_t, BlockPoint>> points;
  int64_t rows = 0;

 private:
  Script script_;
};

// Records the choices of another policy, layer by layer.
class Recorder final : public LayerPolicy {
 public:
  explicit Recorder(LayerPolicy& inner) : inner_(inner) {}
  LayerChoice choose(LayerInput& input) override {
    const LayerChoice choice = inner_.choose(input);
    actions.push_back(choice.action);
    keeps.push_back(choice.keep_map);
    return choice;
  }
  void overruled(int64_t layer) override { inner_.overruled(layer); }
  std::vector<LayerAction> actions;
  std::vector<bool> keeps;

 private:
  LayerPolicy& inner_;
};

constexpr auto kCompute = LayerAction::kCompute, kShare = LayerAction::kShareMap;

TEST(MapSharing, LayersOfABlockShareAndABlockOfOneTakesTheFastPath) {
  auto decoder = six_layers();
  MapSharing sharing({0, 2, 5}, 6);
  Recorder recorder(sharing);
  const std::vector<int32_t> ids = some_prompt(9);
  const auto shared = hidden_with(*decoder, ids, &recorder);
  EXPECT_EQ(recorder.actions, (std::vector{kCompute, kShare, kCompute, kShare, kShare, kCompute}));
  EXPECT_EQ(recorder.keeps, (std::vector<bool>{true, false, true, false, false, false}));
  EXPECT_EQ(hidden_with(*decoder, ids, &recorder), shared);  // no state is kept between steps
  EXPECT_GT(max_difference(shared, hidden_with(*decoder, ids, nullptr)), 1e-3);
  MapSharing alone({0, 1, 2, 3, 4, 5}, 6);
  EXPECT_EQ(hidden_with(*decoder, ids, &alone), hidden_with(*decoder, ids, nullptr));
}

TEST(MapSharing, BlocksThatCannotBeAreErrors) {
  expect_error([] { MapSharing({}, 6); }, {"begin at layer 0", "6 layers"});
  expect_error([] { MapSharing({1}, 6); }, {"begin at layer 0"});
  expect_error([] { MapSharing({0, 6}, 6); }, {"6 layers"});
  expect_error([] { MapSharing({0, 3, 3}, 6); }, {"layer 3 follows layer 3"});
}

// A layer that another policy skips cannot be a source of maps; the next layer of its block becomes
// the source.
TEST(MapSharing, AnOverruledSourceIsReplaced) {
  auto decoder = six_layers();
  const std::vector<int32_t> ids = some_prompt(9);
  for (const bool sharing_is_first : {false, true})
    for (const int64_t skipped : {0, 2, 3}) {
      auto sharing = std::make_shared<MapSharing>(std::vector<int64_t>{0, 2}, 6);
      auto skipping = std::make_shared<LayerSkipping>(std::vector<int64_t>{skipped}, 6,
                                                      LayerAction::kSkipAttention);
      std::vector<std::shared_ptr<LayerPolicy>> both = {skipping, sharing};
      if (sharing_is_first) std::swap(both[0], both[1]);
      PolicyChain chain(both);
      Recorder recorder(chain);
      const auto got = hidden_with(*decoder, ids, &recorder);
      for (const float value : got) ASSERT_TRUE(std::isfinite(value));
      // If the sharing policy is asked first, a layer that shares is not skipped.
      const auto skip = LayerAction::kSkipAttention;
      const std::vector<LayerAction> want =
          skipped == 0   ? std::vector{skip, kCompute, kCompute, kShare, kShare, kShare}
          : skipped == 2 ? std::vector{kCompute, kShare, skip, kCompute, kShare, kShare}
                         : std::vector{kCompute, kShare, kCompute, sharing_is_first ? kShare : skip,
                                       kShare,   kShare};
      EXPECT_EQ(recorder.actions, want) << skipped << " " << sharing_is_first;
    }
}

TEST(LayerSkipping, LeavesOutWhatItIsTold) {
  auto decoder = six_layers();
  const std::vector<int32_t> ids = some_prompt(9);
  for (const LayerAction action : {LayerAction::kSkipAttention, LayerAction::kSkipBlock}) {
    LayerSkipping skipping({1, 4}, 6, action);
    Scripted script([&](int64_t layer) { return layer == 1 || layer == 4 ? action : kCompute; });
    EXPECT_EQ(hidden_with(*decoder, ids, &skipping), hidden_with(*decoder, ids, &script));
  }
  expect_error([] { LayerSkipping({6}, 6, LayerAction::kSkipBlock); }, {"layer 6", "6 layers"});
  expect_error([] { LayerSkipping({-1}, 6, LayerAction::kSkipBlock); }, {"layer -1"});
}

TEST(PolicyChain, TheFirstThatDoesNotComputeDecidesAndTheOthersHearOfIt) {
  auto decoder = six_layers();
  auto first = std::make_shared<Scripted>(
      [](int64_t layer) { return layer == 1 ? LayerAction::kSkipBlock : kCompute; });
  auto second = std::make_shared<Scripted>(
      [](int64_t layer) { return layer <= 2 ? LayerAction::kSkipAttention : kCompute; });
  PolicyChain chain({first, second});
  (void)hidden_with(*decoder, some_prompt(5), &chain);
  EXPECT_EQ(first->asked, (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(second->asked, (std::vector<int64_t>{0, 2, 3, 4, 5}));  // layer 1 was not asked
  EXPECT_EQ(first->overruled_layers, (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(second->overruled_layers, (std::vector<int64_t>{1}));
  EXPECT_EQ(first->points, second->points);
  // The three skipped layers pass the point kDone alone, the other three also kAttended.
  EXPECT_EQ(first->points.size(), 3u * 1 + 3u * 2);
  EXPECT_EQ(first->points.front(), (std::pair{int64_t{0}, BlockPoint::kDone}));
  EXPECT_EQ(first->rows, 5);
}

TEST(LayerTimes, EveryPartOfABlockCountsOnceAndNothingElseChanges) {
  auto decoder = six_layers();
  const std::vector<int32_t> ids = some_prompt(9);
  int64_t now_ns = 0;
  LayerTimes times(6, nullptr, [&] { return now_ns += 10; });
  EXPECT_EQ(hidden_with(*decoder, ids, &times), hidden_with(*decoder, ids, nullptr));
  for (const LayerTime& time : times.layers()) {
    EXPECT_EQ(time.choosing_ns, 10);
    EXPECT_EQ(time.attention_ns, 10);
    EXPECT_EQ(time.feed_forward_ns, 10);
  }
  times.reset();
  EXPECT_EQ(times.layers()[3].choosing_ns, 0);
  EXPECT_EQ(times.layers().size(), 6u);
}

// Each part lasts one tick of the clock, which is read before and after the part.
TEST(LayerTimes, AttentionInPartsIsTheSameAttention) {
  for (const char* shape : {"tinyllama-1.1b", "falcon-7b", "mpt-7b"}) {
    auto decoder = random_decoder(scaled_down(shape), Context::machine());
    const int64_t layers = decoder->config().layers;
    const bool rotates = decoder->config().position == PositionScheme::kRotary;
    const std::vector<int32_t> ids = some_prompt(9);
    int64_t now_ns = 0;
    LayerTimes times(layers, nullptr, [&] { return now_ns += 10; });
    times.split_attention(true);
    const std::vector<float> parts = hidden_with(*decoder, ids, &times);
    const std::vector<float> whole = hidden_with(*decoder, ids, nullptr);
    ASSERT_EQ(parts.size(), whole.size());
    for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(parts[i], whole[i], 1e-4) << shape;
    for (const LayerTime& time : times.layers()) {
      EXPECT_EQ(time.queries_ns, 10);
      EXPECT_EQ(time.keys_ns, 10);
      EXPECT_EQ(time.values_ns, 10);
      EXPECT_EQ(time.rotary_ns, rotates ? 10 : 0);
      EXPECT_EQ(time.map_ns, 0);  // no layer stores its map
      EXPECT_EQ(time.attention_ns, rotates ? 90 : 70);
    }
    times.reset();
    times.split_attention(false);
    (void)hidden_with(*decoder, ids, &times);
    EXPECT_EQ(times.layers()[0].queries_ns, 0);
    EXPECT_EQ(times.layers()[0].attention_ns, 10);
  }
}

TEST(LayerSimilarity, IsTheMeanCosineOfRowsBeforeAndAfter) {
  for (const char* shape : {"tinyllama-1.1b", "falcon-7b", "mpt-7b"}) {
    auto decoder = random_decoder(scaled_down(shape), Context::machine());
    const int64_t layers = decoder->config().layers;
    LayerSimilarity similarity(layers);
    // Records the residuals, to compute the means by hand.
    class Residuals final : public LayerPolicy {
     public:
      LayerChoice choose(LayerInput& input) override {
        keep(input.residual(), before[input.layer()]);
        return {};
      }
      void passed(int64_t layer, BlockPoint point, const TensorView& residual) override {
        keep(residual, (point == BlockPoint::kAttended ? attended : done)[layer]);
      }
      static void keep(const TensorView& view, std::vector<float>& out) {
        out.assign(view.as<const float>(), view.as<const float>() + view.elements());
      }
      std::map<int64_t, std::vector<float>> before, attended, done;
    } residuals;
    const std::vector<int32_t> ids = some_prompt(7);
    (void)hidden_with(*decoder, ids, &similarity);
    (void)hidden_with(*decoder, ids, &residuals);
    const auto cols = static_cast<size_t>(decoder->config().hidden);
    const auto mean_cosine = [&](const std::vector<float>& a, const std::vector<float>& b) {
      double sum = 0;
      for (size_t row = 0; row < 7; ++row) {
        double ab = 0, aa = 0, bb = 0;
        for (size_t c = row * cols; c < (row + 1) * cols; ++c) {
          ab += double{a[c]} * b[c];
          aa += double{a[c]} * a[c];
          bb += double{b[c]} * b[c];
        }
        sum += ab / std::sqrt(aa) / std::sqrt(bb);
      }
      return sum / 7;
    };
    const std::vector<LayerCosine> cosines = similarity.layers();
    ASSERT_EQ(std::ssize(cosines), layers);
    for (int64_t layer = 0; layer < layers; ++layer) {
      const LayerCosine& cosine = cosines[static_cast<size_t>(layer)];
      EXPECT_NEAR(cosine.attention, mean_cosine(residuals.before[layer], residuals.attended[layer]),
                  1e-12);
      EXPECT_NEAR(cosine.block, mean_cosine(residuals.before[layer], residuals.done[layer]), 1e-12);
      EXPECT_LT(cosine.block, 1.0);
      if (layer > 0) {
        EXPECT_EQ(residuals.before[layer], residuals.done[layer - 1]);
      }
    }
  }
}

// He et al. compare all tokens of every layer. So the dropped layers do not depend on the pooling
// of a text, which decides the wanted rows.
TEST(LayerSimilarity, AllRowsCountInEveryLayerWhateverIsWanted) {
  auto decoder = six_layers();
  const std::vector<int32_t> ids = some_prompt(5);
  const auto measured = [&](std::span<const int32_t> hidden_rows) {
    LayerSimilarity similarity(6);
    reprise::testing::OneSequence sequence(decoder->config(), ids);
    StepInput step = sequence.step(0, 5);
    step.hidden_rows = hidden_rows;
    step.policy = &similarity;
    std::vector<float> hidden(hidden_rows.size() * static_cast<size_t>(decoder->config().hidden));
    decoder->forward(step, {.hidden = hidden});
    return similarity.layers();
  };
  const auto of_all = measured(std::vector<int32_t>{0, 1, 2, 3, 4});
  for (const auto& wanted : std::vector<std::vector<int32_t>>{{}, {0}, {4}, {1, 4}}) {
    const auto cosines = measured(wanted);
    for (size_t layer = 0; layer < 6; ++layer) {
      EXPECT_EQ(cosines[layer].attention, of_all[layer].attention) << layer;
      EXPECT_EQ(cosines[layer].block, of_all[layer].block) << layer;
    }
  }
}

TEST(LayerSimilarity, WithoutAnyRowIsAnError) {
  auto decoder = six_layers();
  LayerSimilarity similarity(6);
  expect_error([&] { (void)similarity.layers(); }, {"layer 0", "calibration prompts"});
}

TEST(LayerSimilarity, TheMostSimilarLayersAreChosenLaterOnesFirst) {
  const std::vector<double> cosines = {0.5, 0.9, 0.7, 0.9, 0.7};
  EXPECT_EQ(most_similar_layers(cosines, 0), (std::vector<int64_t>{}));
  EXPECT_EQ(most_similar_layers(cosines, 1), (std::vector<int64_t>{3}));
  EXPECT_EQ(most_similar_layers(cosines, 3), (std::vector<int64_t>{1, 3, 4}));
  expect_error([&] { (void)most_similar_layers(cosines, 6); }, {"6 layers of 5"});
}

}  // namespace
}  // namespace reprise::model
