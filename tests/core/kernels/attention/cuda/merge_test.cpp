#include "core/kernels/attention/cuda/merge.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/cuda_on_cpu/device_array.h"
#include "tests/support/kernels.h"

namespace reprise::kernels {
namespace {

using cuda_on_cpu::DeviceArray;
using cuda_on_cpu::DeviceNumbers;
using reprise::testing::expect_within;
using reprise::testing::kUnitF32;
using reprise::testing::random_values;
using reprise::testing::rounding_bound;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kUntouched = 7.0f;

// Partial results of some rows. The entries are not in the order of the rows.
struct Partials {
  int64_t heads = 0, head_dim = 0, rows = 0;
  std::vector<int32_t> merged_rows, begin = {0};
  std::vector<int64_t> entries;
  std::vector<float> o, m, n;

  [[nodiscard]] size_t entry(size_t i, int64_t head) const {
    return static_cast<size_t>(entries[i] + head);
  }
};

// Makes `parts[i]` parts for the i-th merged row. That row has number 2 i; the rows between are not
// merged.
Partials random_partials(const std::vector<int>& parts, int64_t heads, int64_t head_dim,
                         uint64_t seed) {
  Partials p{.heads = heads, .head_dim = head_dim, .rows = 2 * std::ssize(parts)};
  int64_t count = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    p.merged_rows.push_back(static_cast<int32_t>(2 * i));
    for (int part = 0; part < parts[i]; ++part) p.entries.push_back(heads * count++);
    p.begin.push_back(static_cast<int32_t>(count));
  }
  std::mt19937_64 random(seed);
  std::shuffle(p.entries.begin(), p.entries.end(), random);
  p.o = random_values(count * heads * head_dim, seed);
  p.m = random_values(count * heads, seed + 1, DType::kF32, 5.0f);
  std::uniform_real_distribution<float> sums(1.0f, 100.0f);
  for (int64_t i = 0; i < count * heads; ++i) p.n.push_back(sums(random));
  return p;
}

// Runs the kernel with two unused places behind the rows.
std::vector<float> run(const Partials& p, DType dtype) {
  std::vector<int32_t> padded_rows = p.merged_rows, padded_begin = p.begin;
  padded_rows.resize(p.merged_rows.size() + 2, -1);
  padded_begin.resize(p.begin.size() + 2, p.begin.back());
  const DeviceArray<int32_t> rows(padded_rows), begin(padded_begin);
  const DeviceArray<int64_t> entries(p.entries);
  const DeviceArray<float> o(p.o), m(p.m), n(p.n);
  const DeviceNumbers out(
      std::vector<float>(static_cast<size_t>(p.rows * p.heads * p.head_dim), kUntouched), dtype);
  cuda::merge_partials({.rows = rows.data(),
                        .begin = begin.data(),
                        .entries = entries.data(),
                        .merged = std::ssize(padded_rows),
                        .o = o.data(),
                        .m = m.data(),
                        .n = n.data(),
                        .heads = p.heads,
                        .head_dim = p.head_dim,
                        .out = out.data(),
                        .out_dtype = dtype},
                       nullptr);
  return out.values();
}

// The result by the definition, with error bounds. With d = |m_i - m|, a weight is off by 3 d u
// because of its argument and by 4 u because of ex2.approx. The sums of P terms add P u; the
// inverse and two products add three u more.
struct Definition {
  std::vector<double> want, bound;
};
Definition merged(const Partials& p, DType dtype) {
  Definition d{std::vector<double>(static_cast<size_t>(p.rows * p.heads * p.head_dim),
                                   static_cast<double>(kUntouched)),
               {}};
  d.bound.assign(d.want.size(), 0.0);
  for (size_t row = 0; row < p.merged_rows.size(); ++row)
    for (int64_t head = 0; head < p.heads; ++head) {
      const auto begin = static_cast<size_t>(p.begin[row]);
      const auto end = static_cast<size_t>(p.begin[row + 1]);
      double m = -std::numeric_limits<double>::infinity(), n = 0.0, farthest = 0.0;
      for (size_t i = begin; i < end; ++i)
        m = std::max(m, static_cast<double>(p.m[p.entry(i, head)]));
      const auto weight = [&](size_t i) {
        const auto of_part = static_cast<double>(p.m[p.entry(i, head)]);
        return std::isinf(of_part) ? 0.0 : std::exp(of_part - m);
      };
      for (size_t i = begin; i < end; ++i) {
        n += weight(i) * static_cast<double>(p.n[p.entry(i, head)]);
        if (weight(i) > 0.0)
          farthest = std::max(farthest, m - static_cast<double>(p.m[p.entry(i, head)]));
      }
      const double relative =
          (2 * (3 * farthest + 4) + 2 * static_cast<double>(end - begin) + 4) * kUnitF32;
      for (int64_t c = 0; c < p.head_dim; ++c) {
        double sum = 0.0, magnitude = 0.0;
        for (size_t i = begin; i < end; ++i) {
          if (weight(i) == 0.0) continue;
          const auto o = static_cast<double>(
              p.o[p.entry(i, head) * static_cast<size_t>(p.head_dim) + static_cast<size_t>(c)]);
          sum += weight(i) * o;
          magnitude += weight(i) * std::abs(o);
        }
        const auto at = static_cast<size_t>((p.merged_rows[row] * p.heads + head) * p.head_dim + c);
        d.want[at] = n == 0.0 ? 0.0 : sum / n;
        const double error = n == 0.0 ? 0.0 : magnitude / n * relative;
        d.bound[at] = error + rounding_bound(dtype, std::abs(d.want[at]) + error);
      }
    }
  return d;
}

void check(const Partials& p, DType dtype, const std::string& what) {
  const Definition definition = merged(p, dtype);
  expect_within(run(p, dtype), definition.want, definition.bound, what);
}

TEST(CudaMerge, AnyPartsMatchTheDefinitionAndOtherRowsStay) {
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    for (int64_t heads : {1, 3, 5})
      for (int64_t head_dim : {1, 31, 37, 64, 80, 128, 132})
        check(random_partials({1, 2, 0, 7, 33}, heads, head_dim, static_cast<uint64_t>(head_dim)),
              dtype, std::string(name_of(dtype)) + " head_dim " + std::to_string(head_dim));
}

// A part that saw no key has m = -inf and n = 0, and its o may be anything.
TEST(CudaMerge, PartsThatSawNoKeyDoNotCount) {
  for (size_t unseen : {size_t{0}, size_t{1}, size_t{2}}) {
    Partials p = random_partials({3}, 2, 16, 4);
    for (int64_t head = 0; head < 2; ++head) {
      p.m[p.entry(unseen, head)] = -kInf;
      p.n[p.entry(unseen, head)] = 0.0f;
      for (size_t c = 0; c < 16; ++c) p.o[p.entry(unseen, head) * 16 + c] = kNan;
    }
    check(p, DType::kF32, "unseen");
  }
}

TEST(CudaMerge, ARowThatSawNoKeyIsZero) {
  Partials p = random_partials({2}, 1, 5, 4);
  p.m = {-kInf, -kInf};
  p.n = {0.0f, 0.0f};
  p.o.assign(10, kNan);
  const std::vector<float> got = run(p, DType::kF32);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(got[i], 0.0f);
}

TEST(CudaMerge, PartsFarApartAreTheLargestAlone) {
  Partials p = random_partials({3}, 1, 8, 4);
  p.m = {-1e30f, 1e30f, 0.0f};
  check(p, DType::kF32, "far apart");
}

TEST(CudaMerge, NanStaysNan) {
  for (auto part : {&Partials::o, &Partials::m, &Partials::n}) {
    Partials p = random_partials({3, 3}, 1, 4, 4);
    const size_t at = p.entry(1, 0) * (part == &Partials::o ? 4 : 1);
    (p.*part)[at] = kNan;
    const std::vector<float> got = run(p, DType::kF32);
    EXPECT_TRUE(std::isnan(got[0]));
    for (size_t i = 8; i < 12; ++i) EXPECT_FALSE(std::isnan(got[i])) << "the other row";
  }
}

TEST(CudaMerge, NoRowsWriteNothing) {
  EXPECT_EQ(run(random_partials({}, 2, 8, 1), DType::kF32), std::vector<float>{});
}

}  // namespace
}  // namespace reprise::kernels
