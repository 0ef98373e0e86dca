// Tests how divergences are judged, against logits that are computed separately.
#include "experiments/kinds/shared/near_tie.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/run_model.h"
#include "tests/support/tiny_models.h"

namespace reprise::experiments {
namespace {

TEST(NearTie, RatioIsTheGapOverTwiceTheDeviation) {
  EXPECT_DOUBLE_EQ((NearTie{.gap = 0.3, .deviation = 0.1}.ratio()), 1.5);
  EXPECT_EQ((NearTie{.gap = 0, .deviation = 0.1}.ratio()), 0);
  EXPECT_EQ((NearTie{.gap = 0, .deviation = 0}.ratio()), 0);
}

TEST(NearTie, NothingExplainsAGapWhereNothingDeviates) {
  const double ratio = NearTie{.gap = 1e-6, .deviation = 0}.ratio();
  EXPECT_GT(ratio, 1e6 * kMostTieRatio);
  EXPECT_TRUE(std::isfinite(ratio));
}

class NearTieJudgeTest : public ::testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] std::unique_ptr<model::Decoder> decoder(DType dtype) const {
    return testing::random_decoder(testing::scaled_down(GetParam()), context_, dtype);
  }
  static std::vector<int32_t> text() {
    std::vector<int32_t> ids;
    for (int32_t i = 0; i < 37; ++i) ids.push_back((i * 31 + 5) % 97);
    return ids;
  }
  Context context_ = Context::machine();
};

TEST_P(NearTieJudgeTest, MeasuresGapAndDeviationOverTheWholeText) {
  const auto f32 = decoder(DType::kF32), bf16 = decoder(DType::kBF16);
  const std::vector<int32_t> ids = text();
  const std::vector<float> want = testing::all_logits(*f32, ids, 64);
  const std::vector<float> got = testing::all_logits(*bf16, ids, 64, DType::kBF16);
  double deviation = 0;
  for (size_t i = 0; i < want.size(); ++i)
    deviation = std::max(deviation, std::abs(double{want[i]} - double{got[i]}));
  const float* last = want.data() + want.size() - 97;

  for (const int32_t chunk : {64, 8}) {
    NearTieJudge judge(*f32, *bf16, DType::kBF16, chunk);
    const NearTie tie = judge.judge(ids, 3, 90);
    EXPECT_NEAR(tie.gap, std::abs(last[3] - last[90]), 1e-5) << chunk;
    EXPECT_NEAR(tie.deviation, deviation, deviation / 4) << chunk;  // the judge rounds elsewhere
    EXPECT_EQ(judge.judge(ids, 90, 3).gap, tie.gap);
    EXPECT_EQ(judge.judge(ids, 5, 5).gap, 0);
  }
}

TEST_P(NearTieJudgeTest, TellsATieFromAMistake) {
  const auto f32 = decoder(DType::kF32), bf16 = decoder(DType::kBF16);
  NearTieJudge judge(*f32, *bf16, DType::kBF16, 64);
  const std::vector<int32_t> ids = text();
  const std::vector<float> logits = testing::all_logits(*f32, ids, 64);
  const auto last = logits.end() - 97;
  const auto best = static_cast<int32_t>(std::max_element(last, logits.end()) - last);
  const auto worst = static_cast<int32_t>(std::min_element(last, logits.end()) - last);
  EXPECT_GT(judge.judge(ids, best, worst).ratio(), kMostTieRatio);
  EXPECT_LT(judge.judge(ids, best, best).ratio(), kMostTieRatio);
}

INSTANTIATE_TEST_SUITE_P(Families, NearTieJudgeTest,
                         ::testing::Values("tinyllama-1.1b", "falcon-7b", "mpt-7b"),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name)
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           return name;
                         });

}  // namespace
}  // namespace reprise::experiments
