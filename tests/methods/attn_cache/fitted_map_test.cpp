#include "methods/attn_cache/fitted_map.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/base/error.h"
#include "tests/methods/attn_cache/map_testing.h"

namespace reprise::attn_cache {
namespace {

std::vector<float> fitted(const std::vector<float>& map, int64_t heads, int64_t stored,
                          Alignment alignment, int64_t tokens, bool is_causal) {
  std::vector<float> out(static_cast<size_t>(heads * tokens * tokens), -1.0f);
  fit_map(view_of_map(map, heads, stored), alignment, tokens, is_causal, out, {.threads = 2});
  return out;
}

TEST(FitMap, OfTheSameLengthIsTheMap) {
  const std::vector<float> map = random_map(1, 2, 6);
  for (const Alignment alignment : {Alignment::kBegin, Alignment::kEnd}) {
    const std::vector<float> same = fitted(map, 2, 6, alignment, 6, /*is_causal=*/true);
    for (size_t i = 0; i < map.size(); ++i) EXPECT_NEAR(same[i], map[i], 1e-6f);
  }
}

// A causal row keeps all its keys when the end is cropped.
TEST(FitMap, CroppedAtTheEndKeepsTheFirstRows) {
  const std::vector<float> map = random_map(2, 2, 6);
  const std::vector<float> crop = fitted(map, 2, 6, Alignment::kBegin, 4, /*is_causal=*/true);
  for (size_t head = 0; head < 2; ++head)
    for (size_t row = 0; row < 4; ++row)
      for (size_t k = 0; k < 4; ++k)
        EXPECT_NEAR(crop[(head * 4 + row) * 4 + k], map[(head * 6 + row) * 6 + k], 1e-6f);
}

TEST(FitMap, RowsThatLoseKeysKeepTheirSum) {
  const std::vector<float> map = {0.5f, 0.25f, 0.25f, 0.0f, 0.5f, 0.5f, 0.25f, 0.25f, 0.5f};
  EXPECT_EQ(fitted(map, 1, 3, Alignment::kBegin, 2, /*is_causal=*/false),
            (std::vector<float>{0.5f / 0.75f, 0.25f / 0.75f, 0.0f, 1.0f}));
  EXPECT_EQ(fitted(map, 1, 3, Alignment::kEnd, 2, /*is_causal=*/false),
            (std::vector<float>{0.5f, 0.5f, 0.25f / 0.75f, 0.5f / 0.75f}));
}

TEST(FitMap, RowsThatAreNotStoredWeighWhatTheySeeEqually) {
  const std::vector<float> one = {1.0f};
  EXPECT_EQ(fitted(one, 1, 1, Alignment::kBegin, 2, /*is_causal=*/true),
            (std::vector<float>{1.0f, 0.0f, 0.5f, 0.5f}));
  EXPECT_EQ(fitted(one, 1, 1, Alignment::kEnd, 2, /*is_causal=*/true),
            (std::vector<float>{1.0f, 0.0f, 0.0f, 1.0f}));
  EXPECT_EQ(fitted(one, 1, 1, Alignment::kEnd, 2, /*is_causal=*/false),
            (std::vector<float>{0.5f, 0.5f, 0.0f, 1.0f}));
  // This row keeps no weight, because only its first key had any.
  EXPECT_EQ(fitted({1.0f, 0.0f, 1.0f, 0.0f}, 1, 2, Alignment::kEnd, 1, /*is_causal=*/true),
            (std::vector<float>{1.0f}));
}

// Checks random lengths and maps: every row is a distribution, and a causal one sees no later key.
TEST(FitMap, GivesDistributions) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    const auto stored = static_cast<int64_t>(1 + random_bits(seed, 0, 0) % 9);
    const auto tokens = static_cast<int64_t>(1 + random_bits(seed, 0, 1) % 9);
    const Alignment alignment = seed % 2 == 0 ? Alignment::kBegin : Alignment::kEnd;
    const std::vector<float> map =
        fitted(random_map(seed, 3, stored), 3, stored, alignment, tokens, /*is_causal=*/true);
    for (int64_t row = 0; row < 3 * tokens; ++row) {
      const float* weights = map.data() + row * tokens;
      EXPECT_NEAR(std::accumulate(weights, weights + tokens, 0.0f), 1.0f, 1e-5f);
      for (int64_t k = row % tokens + 1; k < tokens; ++k) EXPECT_EQ(weights[k], 0.0f);
    }
  }
}

TEST(AlignmentNames, AreReadBackOrCorrected) {
  for (const std::string& name : alignment_names()) EXPECT_EQ(name_of(parse_alignment(name)), name);
  EXPECT_THROW((void)parse_alignment("start"), Error);
}

}  // namespace
}  // namespace reprise::attn_cache
