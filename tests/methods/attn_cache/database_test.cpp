#include "methods/attn_cache/database.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/error.h"
#include "core/base/random.h"
#include "methods/attn_cache/calibrate.h"
#include "methods/attn_cache/pair_label.h"
#include "methods/attn_cache/train.h"
#include "tests/methods/attn_cache/database_testing.h"
#include "tests/support/json.h"
#include "tests/support/needs_faiss.h"

namespace reprise::attn_cache {
namespace {

const ::testing::Environment* const kFaiss = testing::NeedsFaiss::add();

using model::expect_error;
using reprise::testing::some_prompt;

TEST(Database, HasTheMapsOfThePromptsThatWereCollected) {
  Fixture fixture(tiny_llama());
  const auto prompts = some_prompts(3, 12);
  const auto database = fixture.build({}, prompts);
  ASSERT_EQ(database->maps().groups().size(), 3u);
  for (size_t i = 0; i < prompts.size(); ++i)
    EXPECT_EQ(database->maps().groups()[i].prompt_hash, hash_of_prompt(prompts[i]));
  EXPECT_EQ(database->maps().lengths(), (std::vector<int64_t>{12}));
  EXPECT_EQ(database->projector().origin().how, "random");
}

TEST(Database, OfAnotherModelsMapsIsRefused) {
  Fixture fixture(tiny_llama());
  const AttnCacheOptions options;
  const SampleSet samples =
      collect(fixture.folder.path(), fixture.facts, options, some_prompts(3, 12), fixture.runner());
  ModelFacts other = fixture.facts;
  other.fingerprint = "other weights";
  expect_error(
      [&] {
        (void)Database(fixture.folder.path(), other, options, samples,
                       Projector::random(samples.shape, 1, "tiny", fixture.context));
      },
      {kMapsFile, "tiny", "other weights"});
}

TEST(Database, OptionsThatItDoesNotServeAreErrors) {
  Fixture fixture(tiny_llama());
  const auto database = fixture.build({}, some_prompts(3, 12));
  expect_error(
      [&] { AttnCachePolicy(database, {.layer_group = 2}, fixture.facts, fixture.context); },
      {"layer_group 2", "layer 2", "indexed_layers"});
}

TEST(Collecting, NeedsWholePromptsOneByOne) {
  Fixture fixture(tiny_llama());
  const RunPrompt in_chunks = [&](std::span<const int32_t> ids, model::LayerPolicy& policy) {
    reprise::testing::OneSequence sequence(fixture.decoder->config(), ids);
    model::StepInput step = sequence.step(6, 6);
    step.policy = &policy;
    fixture.decoder->forward(step, {});
  };
  expect_error(
      [&] {
        (void)collect(fixture.folder.path(), fixture.facts, {}, some_prompts(1, 12), in_chunks);
      },
      {"12 tokens", "6 rows", "one by one"});
  EXPECT_TRUE(std::filesystem::is_empty(fixture.folder.path()));
}

TEST(Collecting, ABudgetRefusesBeforeAnythingIsComputed) {
  Fixture fixture(tiny_llama());
  // A prompt of 64 tokens has 5 layers, 4 heads and 64 x 64 weights of 2 bytes.
  const double prompt_mib = 5.0 * 4 * 64 * 64 * 2 / (1 << 20);
  const AttnCacheOptions options{.budget_mib = 3.5 * prompt_mib};
  int64_t computed = 0;
  const RunPrompt count = [&](std::span<const int32_t>, model::LayerPolicy&) { ++computed; };
  expect_error(
      [&] {
        (void)collect(fixture.folder.path(), fixture.facts, options, some_prompts(4, 64), count);
      },
      {"4 prompts", "budget_mib", "map_form", "fewer prompts"});
  EXPECT_EQ(computed, 0);
  EXPECT_EQ(fixture.build(options, some_prompts(3, 64))->maps().groups().size(), 3u);
}

TEST(Options, PresetsAreThePapersAndTheCodes) {
  const auto read = [](const Json& given) {
    return reuse::read_options<AttnCacheOptions>(fields_of(given), "test");
  };
  const AttnCacheOptions paper = read(Json::object());
  EXPECT_EQ(paper.threshold, 0.99);
  EXPECT_EQ(paper.index, "hnsw");
  EXPECT_EQ(paper.length_weight, 0.2);
  EXPECT_EQ(paper.batch, 64);
  EXPECT_EQ(paper.map_norm, "l1");
  EXPECT_EQ(paper.map_weight, 0.5);
  EXPECT_EQ(paper.lengths_kind(), Lengths::kFit);
  const AttnCacheOptions code = read({{"preset", "as_coded"}});
  EXPECT_EQ(code.threshold, 0.995);
  EXPECT_EQ(code.index_options().kind, IndexKind::kIvfFlat);
  EXPECT_EQ(code.index_options().lists, 128);
  EXPECT_EQ(code.index_options().probes, 1);
  EXPECT_EQ(code.batch, 32);
  EXPECT_EQ(code.map_weight, 0.5);
  EXPECT_EQ(code.label_rule().padded_tokens, 189);
  const AttnCacheOptions run = read({{"preset", "as_run"}});
  EXPECT_EQ(run.length_weight, 0.0);
  EXPECT_EQ(run.map_weight, 0.5);
  EXPECT_EQ(run.epochs, 2);
  EXPECT_EQ(run.map_alignment(), Alignment::kEnd);
  EXPECT_EQ(code.projector_shape(3072).inputs(), 144384);
  EXPECT_EQ(code.searched_layers(28), (std::vector<int64_t>{0}));
  EXPECT_EQ(code.layers_in_index(28).size(), 28u);
  const AttnCacheOptions fine = read({{"preset", "attn_cache_f"}});
  EXPECT_EQ(fine.searched_layers(3), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(fine.length_weight, 0.0);
  EXPECT_EQ(paper.similarity_of(0.04), 0.96);
  EXPECT_EQ(code.similarity_of(0.25), 0.75);
  const AttnCacheOptions raw = read({{"preset", "raw"}, {"pooled_rows", 4}});
  EXPECT_EQ(raw.projector_shape(80).features, 320);
  EXPECT_EQ(raw.similarity_kind(), Similarity::kSquaredDistance);
  expect_error([&] { read({{"treshold", 0.9}}); }, {"treshold", "threshold"});
  expect_error([&] { read({{"threshold", 3.0}}); }, {"threshold", "-1000000 to 2"});
  expect_error([&] { read({{"index", "hsnw"}}); }, {"hsnw", "hnsw"});
  expect_error([&] { read({{"projector", "pooled_linear"}}); }, {"padded_tokens"});
  expect_error([&] { read({{"padded_tokens", 128}}); }, {"padded_tokens", "alignment", "end"});
}

TEST(Labels, AreEquationTwoOfTheStoredMaps) {
  Fixture fixture(tiny_llama());
  AttnCacheOptions options{.map_form = "f32"};
  for (const std::string form : {"f32", "bf16", "u8"}) {
    options.map_form = form;
    const std::vector<std::vector<int32_t>> prompts = {some_prompt(12, 1), some_prompt(12, 2),
                                                       some_prompt(9, 3)};
    const auto database = fixture.build(options, prompts);
    const MapStore& maps = database->maps();
    const LabelRule weights{.map = 1.0, .length = 0.2};
    EXPECT_EQ(pair_label(maps, {0, 2}, {0, 2}, weights), 0.0);
    const double same_length = pair_label(maps, {0, 2}, {1, 2}, weights);
    EXPECT_GT(same_length, 0.0);
    EXPECT_LE(same_length, 2.01);  // rows of two distributions are at most 2 apart
    EXPECT_EQ(same_length, pair_label(maps, {1, 2}, {0, 2}, weights));
    EXPECT_EQ(pair_label(maps, {0, 2}, {1, 2}, {.map = 0.5}), 0.5 * same_length);
    EXPECT_NEAR(pair_label(maps, {0, 2}, {2, 2}, {.map = 0.0, .length = 0.2}), 0.6, 1e-12);
    const std::vector<IndexEntry> entries = {{0, 2}, {1, 2}, {2, 1}};
    std::vector<float> labels(9, -1.0f);
    label_pairs(maps, entries, weights, labels, {.threads = 2});
    EXPECT_EQ(labels[1], static_cast<float>(same_length));
    EXPECT_EQ(labels[5], static_cast<float>(pair_label(maps, {1, 2}, {2, 1}, weights)));
    EXPECT_EQ(labels[3], -1.0f);  // below the diagonal nothing is written
  }
  // The label of the first layer in f32, computed by hand.
  options.map_form = "f32";
  const auto database = fixture.build(options, some_prompts(2, 6));
  const kernels::MapView a = database->maps().map(0, 0), b = database->maps().map(1, 0);
  double sum = 0.0;
  for (int64_t i = 0; i < 4 * 6 * 6; ++i)
    sum += std::abs(double{static_cast<const float*>(a.data)[i]} -
                    static_cast<const float*>(b.data)[i]);
  EXPECT_NEAR(pair_label(database->maps(), {0, 0}, {1, 0}, {}), 0.5 * sum / 4 / 6, 1e-6);
}

// The map of a prompt as padding on the left makes it: rows of the padding weigh all keys equally.
std::vector<float> padded_map(const kernels::MapView& map, int64_t tokens) {
  const int64_t padding = tokens - map.rows;
  std::vector<float> all(static_cast<size_t>(map.heads * tokens * tokens), 0.0f);
  for (int64_t head = 0; head < map.heads; ++head)
    for (int64_t row = 0; row < tokens; ++row) {
      float* out = all.data() + (head * tokens + row) * tokens;
      if (row < padding)
        std::fill_n(out, tokens, 1.0f / static_cast<float>(tokens));
      else
        std::copy_n(static_cast<const float*>(map.data) + head * map.head_stride +
                        (row - padding) * map.row_stride,
                    map.keys, out + padding);
    }
  return all;
}

TEST(Labels, OfPaddedPromptsCountAllRows) {
  Fixture fixture(tiny_llama());
  const AttnCacheOptions options{.map_form = "f32"};
  const auto database =
      fixture.build(options, {some_prompt(12, 1), some_prompt(7, 2), some_prompt(1, 3)});
  constexpr int64_t kTokens = 14;
  for (const auto& [first, second] : {std::pair{0, 1}, {1, 0}, {2, 0}, {1, 2}, {1, 1}})
    for (const MapNorm norm : {MapNorm::kL1, MapNorm::kL2}) {
      const auto a = padded_map(database->maps().map(first, 3), kTokens);
      const auto b = padded_map(database->maps().map(second, 3), kTokens);
      double total = 0.0;
      for (size_t row = 0; row < a.size() / kTokens; ++row) {
        double sum = 0.0;
        for (size_t k = row * kTokens; k < (row + 1) * kTokens; ++k) {
          const double apart = std::abs(double{a[k]} - b[k]);
          sum += norm == MapNorm::kL1 ? apart : apart * apart;
        }
        total += norm == MapNorm::kL1 ? sum : std::sqrt(sum);
      }
      EXPECT_NEAR(pair_label(database->maps(), {first, 3}, {second, 3},
                             {.norm = norm, .map = 0.5, .length = 0.0, .padded_tokens = kTokens}),
                  0.5 * total / 4 / kTokens, 1e-6)
          << first << " " << second;
    }
}

// Mean squared error of the vectors' distances against the labels, divided by the variance of the
// labels.
double distance_error(Projector& projector, const SampleSet& samples, const MapStore& maps,
                      const AttnCacheOptions& options) {
  const auto n = static_cast<int64_t>(samples.entries.size());
  const int64_t dims = projector.shape().features;
  std::vector<float> features(static_cast<size_t>(n * dims));
  projector.project_pooled(samples.x, features);
  std::vector<double> labels, distances;
  for (int64_t a = 0; a < n; ++a)
    for (int64_t b = a + 1; b < n; ++b) {
      double sum = 0.0;
      for (int64_t d = 0; d < dims; ++d) {
        const double apart = double{features[static_cast<size_t>(a * dims + d)]} -
                             features[static_cast<size_t>(b * dims + d)];
        sum += apart * apart;
      }
      distances.push_back(std::sqrt(sum));
      labels.push_back(pair_label(maps, samples.entries[static_cast<size_t>(a)],
                                  samples.entries[static_cast<size_t>(b)], options.label_rule()));
    }
  const double mean =
      std::accumulate(labels.begin(), labels.end(), 0.0) / static_cast<double>(labels.size());
  double error = 0.0, spread = 0.0;
  for (size_t i = 0; i < labels.size(); ++i) {
    error += (distances[i] - labels[i]) * (distances[i] - labels[i]);
    spread += (labels[i] - mean) * (labels[i] - mean);
  }
  return error / spread;
}

// Trains with libtorch; without it, expects an error that names the remedy.
TEST(Training, LowersItsLossOrNamesTheRemedy) {
  Fixture fixture(tiny_llama());
  AttnCacheOptions options{
      .layer_group = 1, .map_form = "f32", .pooled_rows = 4, .batch = 8, .epochs = 60};
  auto prompts = some_prompts(8, 12);
  for (const int32_t tokens : {6, 9})
    for (const auto& prompt : some_prompts(8, tokens)) prompts.push_back(prompt);
  const SampleSet samples =
      collect(fixture.folder.path(), fixture.facts, options, prompts, fixture.runner());
  const MapStore maps(fixture.folder.path() / kMapsFile);
  if (!training_absence().empty()) {
    expect_error([&] { (void)train_projector(samples, maps, options, 1, fixture.context); },
                 {"./setup.sh --torch"});
    GTEST_SKIP() << training_absence();
  }
  TrainedProjector trained = train_projector(samples, maps, options, 1, fixture.context);
  ASSERT_EQ(trained.losses.size(), 60u);
  EXPECT_LT(trained.losses.back(), 0.5 * trained.losses.front());
  EXPECT_LT(trained.loss_over_flat().value(), 0.8);
  EXPECT_LT(distance_error(trained.projector, samples, maps, options), 0.8)
      << "the weights that come out take states as they are";
  EXPECT_EQ(trained.projector.origin().how, "trained");
  EXPECT_NO_THROW(Database(fixture.folder.path(), fixture.facts, options, samples,
                           std::move(trained.projector)));
  options.batch = 2;
  options.epochs = 1;
  EXPECT_FALSE(train_projector(samples, maps, options, 1, fixture.context).loss_over_flat())
      << "a batch's mean label is the label of its one pair";
}

TEST(Training, ThereIsNoRatioToAFlatLossOfZero) {
  const Context context{.threads = 1, .isa = best_isa()};
  TrainedProjector trained{
      Projector::random(mlp_shape(2, 2, 3, 3), 1, "tiny", context), {0.9, 0.5}, {1.0, 0.0}};
  EXPECT_FALSE(trained.loss_over_flat());
  trained.flat_losses.back() = 2.0;
  EXPECT_EQ(trained.loss_over_flat(), 0.25);
}

// ---- calibrated thresholds ----

TEST(Calibration, ChoosesTheLowestThresholdWithinTheBound) {
  // For 19 points, (sum + 1) / 20 <= 0.15 allows a sum of losses of 2.
  std::vector<CalibrationPoint> points;
  for (int i = 0; i < 19; ++i)
    points.push_back(
        {.similarity = 1.0 - 0.01 * i, .loss = i == 5 || i == 9 || i == 12 ? 1.0 : 0.0});
  const CalibratedThreshold chosen = calibrate_threshold(points, 0.15);
  EXPECT_EQ(chosen.threshold, points[11].similarity);
  EXPECT_DOUBLE_EQ(chosen.hit_ratio, 12.0 / 19);
  EXPECT_DOUBLE_EQ(chosen.mean_loss, 2.0 / 19);
  EXPECT_DOUBLE_EQ(chosen.bounded_loss, 3.0 / 20);
  points[11].similarity = points[12].similarity;  // has the same similarity as the point that fails
  EXPECT_EQ(calibrate_threshold(points, 0.15).threshold, points[10].similarity);
  for (CalibrationPoint& point : points) point.loss = 1.0;
  const CalibratedThreshold never = calibrate_threshold(points, 0.06);
  EXPECT_GT(never.threshold, 1.0);
  EXPECT_EQ(never.hit_ratio, 0.0);
  for (CalibrationPoint& point : points) point = {.similarity = -INFINITY, .loss = 0.0};
  EXPECT_GT(calibrate_threshold(points, 0.06).threshold, 1.0);
}

TEST(Calibration, TooFewPointsAndImpossibleLossesAreErrors) {
  const std::vector<CalibrationPoint> points(18, {.similarity = 0.5, .loss = 0.0});
  expect_error([&] { (void)calibrate_threshold(points, 0.05); }, {"18 held-out", "19 or more"});
  EXPECT_EQ(calibrate_threshold(points, 0.06).threshold, 0.5);
  const std::vector<CalibrationPoint> broken = {{.similarity = 0.5, .loss = 1.5}};
  expect_error([&] { (void)calibrate_threshold(broken, 0.9); }, {"1.5"});
  expect_error([&] { (void)calibrate_threshold(points, 0.0); }, {"above 0"});
}

// Checks over many draws that the bound holds and that the losses come near it. Similarity s is
// uniform, and a prompt is lost with probability 1 - s.
TEST(Calibration, BoundsTheExpectedLossOfTheNextPrompt) {
  constexpr uint64_t kSeed = 1234;
  constexpr int kDraws = 400, kPoints = 100;
  constexpr double kTarget = 0.1;
  double loss = 0.0;
  for (uint64_t draw = 0; draw < kDraws; ++draw) {
    std::vector<CalibrationPoint> points;
    for (uint64_t i = 0; i < kPoints; ++i) {
      const double s = random_unit(kSeed, draw, 2 * i);
      points.push_back(
          {.similarity = s, .loss = random_unit(kSeed, draw, 2 * i + 1) > s ? 1.0 : 0.0});
    }
    const double t = calibrate_threshold(points, kTarget).threshold;
    loss += t < 1.0 ? (1.0 - t) * (1.0 - t) / 2 : 0.0;  // integral of 1 - s from t to 1
  }
  loss /= kDraws;
  EXPECT_LE(loss, kTarget + 0.005);  // three standard errors
  EXPECT_GE(loss, 0.7 * kTarget);
}

}  // namespace
}  // namespace reprise::attn_cache
