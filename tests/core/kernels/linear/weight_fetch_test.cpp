// Tests prefetches of weights: the texts of settings, that no setting changes a result, and
// calibration.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/linear/linear.h"
#include "core/kernels/linear/weight_calibration.h"
#include "tests/support/environment.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using reprise::testing::available_isas;
using reprise::testing::EnvironmentVariable;
using reprise::testing::random_values;

constexpr WeightFormat kFormats[] = {WeightFormat::kF32,  WeightFormat::kBF16,
                                     WeightFormat::kInt8, WeightFormat::kInt4,
                                     WeightFormat::kNf4,  WeightFormat::kNf4Double};

TEST(WeightFetch, TextsAreReadBackAndNonsenseIsNamed) {
  for (const char* text : {"l1:0", "l2:4096", "l1:65536"})
    EXPECT_EQ(text_of(parse_weight_fetch(text)), text);
  for (const char* text : {"", "l3:64", "l1", "l1:", "l1:-1", "l1:65537", "l1:64:0", "l2:4k"}) {
    try {
      (void)parse_weight_fetch(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("level:bytes"), std::string::npos) << error.what();
    }
  }
}

// The farthest prefetch points beyond this small matrix, which must be harmless.
TEST(WeightFetch, NoSettingChangesABit) {
  constexpr int64_t kRows = 70, kCols = 90;
  for (const WeightFormat format : kFormats) {
    const std::vector<float> values = random_values(kRows * kCols, 1, source_dtype(format));
    const Tensor held = reprise::testing::tensor_of(values, source_dtype(format));
    const Weight w(
        kRows, kCols, format,
        [&](int64_t first, int64_t end, void* out) {
          const size_t row = kCols * size_of(source_dtype(format));
          std::memcpy(out, static_cast<const char*>(held.data()) + static_cast<size_t>(first) * row,
                      static_cast<size_t>(end - first) * row);
        },
        {.threads = 1, .isa = best_isa()});
    for (const int64_t m : {1, 2, 4, 6, 18, 19})
      for (const Isa isa : available_isas()) {
        const Tensor x = reprise::testing::tensor_of(random_values(m * kCols, 2), w.input_dtype());
        std::vector<float> usual;
        for (const char* text : {"l1:4096", "l1:0", "l1:65536", "l2:64", "l2:65536"}) {
          const WeightFetch fetch = parse_weight_fetch(text);
          std::vector<float> out(static_cast<size_t>(m * kRows));
          LinearWorkspace workspace;
          LinearCall{.x = x.data(), .m = m, .out = out.data()}.run(w, workspace,
                                                                   {.threads = 1,
                                                                    .isa = isa,
                                                                    .weights_bf16 = fetch,
                                                                    .weights_f32 = fetch,
                                                                    .weights_codes = fetch,
                                                                    .batch_bf16 = fetch,
                                                                    .large_batch_bf16 = fetch});
          if (usual.empty()) usual = out;
          EXPECT_EQ(out, usual) << name_of(format) << " " << name_of(isa) << " " << text;
        }
      }
  }
}

TEST(WeightFetch, CalibrationChoosesAmongWhatItTried) {
  for (const WeightFormat format : {WeightFormat::kF32, WeightFormat::kBF16, WeightFormat::kInt8}) {
    WeightCalibration calibration(format, {.threads = 2, .isa = best_isa()});
    for (const int64_t rows : {1, 12, 32}) {
      const Calibration<WeightFetch> found = calibration.run(rows);
      // With 32 rows and no AMX, only the two caches are compared.
      const bool caches_alone = rows == 32 && best_isa() != Isa::kAmx;
      ASSERT_GT(found.trials.size(), caches_alone ? 1u : 3u) << found.reason;
      EXPECT_EQ(found.trials[0].speedup, 1);
      const auto chosen =
          std::find_if(found.trials.begin(), found.trials.end(),
                       [&](const auto& trial) { return trial.setting == found.chosen; });
      ASSERT_NE(chosen, found.trials.end());
      EXPECT_TRUE(chosen->speedup > kLeastGain || chosen == found.trials.begin());
      for (const auto& trial : found.trials) EXPECT_GT(trial.read_gb_s, 0);
    }
  }
}

TEST(WeightFetch, TheEnvironmentDecidesAndIsNotMeasured) {
  const EnvironmentVariable given("REPRISE_WEIGHT_FETCH", "l2:2048");
  const Context context = Context::machine();
  EXPECT_EQ(text_of(context.weights_bf16), "l2:2048");
  EXPECT_EQ(text_of(context.weights_f32), "l2:2048");
  EXPECT_EQ(text_of(context.weights_codes), "l2:2048");
  EXPECT_EQ(text_of(context.batch_bf16), "l2:2048");
  EXPECT_EQ(text_of(context.large_batch_bf16), "l2:2048");
  const Calibration<WeightFetch> found = WeightCalibration(WeightFormat::kBF16, context).run(1);
  EXPECT_EQ(text_of(found.chosen), "l2:2048");
  EXPECT_TRUE(found.trials.empty());
}

}  // namespace
}  // namespace reprise::kernels
