#include "methods/attn_cache/vector_index.h"

#include <gtest/gtest.h>

#include <cmath>

#include "methods/attn_cache/feature_set.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/kernels.h"

namespace reprise::attn_cache {
namespace {

using model::expect_error;
using reprise::testing::random_values;

constexpr int64_t kDims = 16;

std::vector<IndexEntry> entries_of(int64_t count) {
  std::vector<IndexEntry> entries;
  for (int64_t i = 0; i < count; ++i)
    entries.push_back({.group = static_cast<int32_t>(i / 2), .layer = static_cast<int32_t>(i % 2)});
  return entries;
}

Neighbour nearest_by_definition(std::span<const float> vectors, const float* query) {
  Neighbour best{.entry = -1, .squared_distance = INFINITY};
  for (int64_t i = 0; i < std::ssize(vectors) / kDims; ++i) {
    double sum = 0;
    for (int64_t c = 0; c < kDims; ++c) {
      const double d = double{vectors[static_cast<size_t>(i * kDims + c)]} - query[c];
      sum += d * d;
    }
    if (sum < best.squared_distance)
      best = {.entry = i, .squared_distance = static_cast<float>(sum)};
  }
  return best;
}

class VectorIndexKinds : public ::testing::TestWithParam<IndexKind> {
 protected:
  void SetUp() override {
    if (const std::string absence = index_absence(GetParam()); !absence.empty())
      GTEST_SKIP() << absence;
  }
  IndexOptions options_{.kind = GetParam(), .lists = 8, .probes = 8};
};

// The search is exact with as many probes as lists and more candidates than vectors.
TEST_P(VectorIndexKinds, FindsTheNearestOfEachQuery) {
  options_.candidates = 500;
  for (const int64_t count : {1, 2, 7, 300}) {
    const std::vector<float> vectors = random_values(count * kDims, 1);
    const VectorIndex index(options_, kDims, vectors, entries_of(count));
    for (const int64_t queries : {1, 3, 16, 41}) {  // one thread takes 16 queries at a time
      const std::vector<float> asked = random_values(queries * kDims, 2);
      std::vector<Neighbour> got(static_cast<size_t>(queries));
      index.search(asked, got, {.threads = 2});
      for (int64_t q = 0; q < queries; ++q) {
        const Neighbour want = nearest_by_definition(vectors, asked.data() + q * kDims);
        EXPECT_EQ(got[static_cast<size_t>(q)].entry, want.entry) << count << " " << q;
        EXPECT_NEAR(got[static_cast<size_t>(q)].squared_distance, want.squared_distance, 1e-4);
      }
    }
  }
}

// A hit at threshold 1 needs a distance of exactly 0.
TEST_P(VectorIndexKinds, AVectorOfItsOwnIsAtDistanceZeroExactly) {
  const std::vector<float> vectors = random_values(200 * kDims, 3);
  const VectorIndex index(options_, kDims, vectors, entries_of(200));
  std::vector<Neighbour> all(200), one(1);
  index.search(vectors, all, {.threads = 2});
  for (int64_t i = 0; i < 200; ++i) {
    index.search(std::span(vectors).subspan(static_cast<size_t>(i * kDims), kDims), one, {});
    EXPECT_EQ(one[0].entry, i);
    EXPECT_EQ(one[0].squared_distance, 0.0f);
    EXPECT_EQ(all[static_cast<size_t>(i)].entry, i);
    EXPECT_EQ(all[static_cast<size_t>(i)].squared_distance, 0.0f);
  }
}

TEST_P(VectorIndexKinds, TheSameVectorsGiveTheSameIndex) {
  for (const int64_t count : {0, 1, 100}) {
    const std::vector<float> vectors = random_values(count * kDims, 4);
    const VectorIndex index(options_, kDims, vectors, entries_of(count));
    const VectorIndex again(options_, kDims, vectors, entries_of(count));
    EXPECT_EQ(again.dims(), kDims);
    EXPECT_EQ(again.entries(), entries_of(count));
    const std::vector<float> asked = random_values(20 * kDims, 5);
    std::vector<Neighbour> a(20), b(20);
    index.search(asked, a, {});
    again.search(asked, b, {.threads = 2});
    for (size_t q = 0; q < 20; ++q) {
      EXPECT_EQ(a[q].entry, b[q].entry);
      EXPECT_EQ(a[q].entry < 0, count == 0);
      EXPECT_EQ(a[q].squared_distance, b[q].squared_distance);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, VectorIndexKinds,
                         ::testing::Values(IndexKind::kFlat, IndexKind::kHnsw, IndexKind::kIvfFlat),
                         [](const auto& one) { return std::string(name_of(one.param)); });

// With one probe of eight clusters, as in the released code, some nearest vectors are missed; with
// eight probes, none.
TEST(VectorIndex, FewProbesReadFewClusters) {
  if (const std::string absence = index_absence(IndexKind::kIvfFlat); !absence.empty())
    GTEST_SKIP() << absence;
  const std::vector<float> vectors = random_values(2000 * kDims, 6);
  const std::vector<float> asked = random_values(200 * kDims, 7);
  const auto right = [&](int32_t probes) {
    const VectorIndex index({.kind = IndexKind::kIvfFlat, .lists = 8, .probes = probes}, kDims,
                            vectors, entries_of(2000));
    std::vector<Neighbour> got(200);
    index.search(asked, got, {});
    int count = 0;
    for (size_t q = 0; q < 200; ++q)
      count += got[q].entry ==
               nearest_by_definition(vectors, asked.data() + static_cast<int64_t>(q) * kDims).entry;
    return count;
  };
  EXPECT_LT(right(1), 200);
  EXPECT_GT(right(1), 50);
  EXPECT_EQ(right(8), 200);
}

TEST(VectorIndex, WhatCannotBeIndexedIsAnError) {
  const std::vector<float> vectors = random_values(2 * kDims, 8);
  const auto make = [&](const IndexOptions& options, std::span<const float> values = {}) {
    const VectorIndex index(options, kDims, values.empty() ? std::span(vectors) : values,
                            entries_of(2));
  };
  expect_error([&] { make({.neighbours = 1}); }, {"neighbours = 1"});
  expect_error([&] { make({.candidates = 0}); }, {"candidates = 0"});
  expect_error([&] { make({.probes = -2}); }, {"probes = -2"});
  std::vector<float> broken = vectors;
  broken[3] = NAN;
  expect_error([&] { make({}, broken); }, {"nan"});
  expect_error([] { const VectorIndex index({}, 0, {}, {}); }, {"0 dimensions"});
  expect_error([] { (void)parse_index_kind("hsnw"); }, {"hsnw", "\"hnsw\""});
}

TEST(FeatureIndex, HoldsEachVectorInTheIndexOfItsLayerAndLength) {
  const FeatureSet features = {
      .dims = kDims, .vectors = random_values(6 * kDims, 9), .entries = entries_of(6)};
  const std::vector<int64_t> tokens = {10, 20, 10};
  const auto count = [&](const FeatureIndex& index, int64_t layer, int64_t length) {
    const VectorIndex* found = index.find(layer, length);
    return found == nullptr ? int64_t{0} : std::ssize(found->entries());
  };
  const auto make = [&](bool by_layer, bool by_length) {
    return FeatureIndex({.by_layer = by_layer, .by_length = by_length}, {.kind = IndexKind::kFlat},
                        features, tokens);
  };
  EXPECT_EQ(count(make(false, false), 1, 20), 6);
  EXPECT_EQ(count(make(true, false), 1, 20), 3);
  EXPECT_EQ(count(make(true, false), 2, 20), 0);
  EXPECT_EQ(count(make(true, true), 1, 20), 1);
  EXPECT_EQ(count(make(true, true), 1, 10), 2);
  EXPECT_EQ(count(make(true, true), 1, 11), 0);
  EXPECT_EQ(count(make(false, true), 1, 10), 4);
  EXPECT_EQ(make(true, true).layers(), (std::vector<int64_t>{0, 1}));
}

}  // namespace
}  // namespace reprise::attn_cache
