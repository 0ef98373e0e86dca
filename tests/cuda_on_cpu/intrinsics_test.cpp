// Compares each device function with the PTX manual's tables, which are written down here anew.
// Tests the emulator's functions and, in a build for CUDA, the device's.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "core/base/dtype.h"
#include "tests/cuda_on_cpu/device_array.h"
#include "tests/cuda_on_cpu/intrinsic_kernels.h"

namespace reprise::kernels::cuda::intrinsics {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The manual's own steps for shfl.sync, with the operand c that CUDA makes from a width: bits 8 to
// 12 are a mask, 32 - width; the clamp is 0 for .up and otherwise 31.
int source_by_manual(Shuffle shuffle, int lane, int b, int width) {
  const int segment_mask = 32 - width, clamp = shuffle == Shuffle::kUp ? 0 : 31;
  const int highest = (lane & segment_mask) | (clamp & ~segment_mask);
  const int lowest = lane & segment_mask;
  int j = 0;
  bool is_in_range = false;
  switch (shuffle) {
    case Shuffle::kUp:
      j = lane - b;
      is_in_range = j >= highest;
      break;
    case Shuffle::kDown:
      j = lane + b;
      is_in_range = j <= highest;
      break;
    case Shuffle::kXor:
      j = lane ^ b;
      is_in_range = j <= highest;
      break;
    case Shuffle::kIndex:
      j = lowest | (b & ~segment_mask & 31);
      is_in_range = j <= highest;
      break;
  }
  return is_in_range ? j : lane;
}

TEST(Intrinsics, ShufflesReadTheLanesOfTheManual) {
  for (Shuffle shuffle : {Shuffle::kIndex, Shuffle::kUp, Shuffle::kDown, Shuffle::kXor})
    for (int width : {1, 2, 4, 8, 16, 32})
      for (int operand = 0; operand < 32; ++operand) {
        const std::vector<int> got = shuffled_lanes(shuffle, operand, width);
        for (int lane = 0; lane < 32; ++lane)
          ASSERT_EQ(got[static_cast<size_t>(lane)], source_by_manual(shuffle, lane, operand, width))
              << "shuffle " << static_cast<int>(shuffle) << " by " << operand << " width " << width
              << " lane " << lane;
      }
}

TEST(Intrinsics, VotesAreThoseOfAllLanes) {
  for (uint32_t bits : {0u, 1u, 0x80000000u, 0x12345678u, 0xfffffffeu, 0xffffffffu}) {
    const Votes got = votes(bits);
    EXPECT_EQ(got.ballot, std::vector<uint32_t>(32, bits));
    EXPECT_EQ(got.any, std::vector<uint32_t>(32, bits != 0));
    EXPECT_EQ(got.all, std::vector<uint32_t>(32, bits == 0xffffffffu));
  }
}

// Fragment of an 8 x 8 matrix [PTX ISA, ldmatrix, table of row and threads]: row r lies in lanes
// 4 r to 4 r + 3, two columns in each.
TEST(Intrinsics, MatricesAreLoadedAsInTheManual) {
  for (int matrices : {1, 2, 4})
    for (bool is_transposed : {false, true}) {
      const std::vector<uint32_t> got = loaded_matrices(matrices, is_transposed);
      for (uint32_t row = 0; row < 8; ++row)
        for (uint32_t col = 0; col < 8; ++col)
          for (uint32_t matrix = 0; matrix < static_cast<uint32_t>(matrices); ++matrix) {
            const uint32_t lane = 4 * row + col / 2;
            const uint32_t pair = got[lane * static_cast<uint32_t>(matrices) + matrix];
            const uint32_t element = col % 2 == 0 ? pair & 0xffffu : pair >> 16;
            EXPECT_EQ(element, matrix * 64 + (is_transposed ? col * 8 + row : row * 8 + col))
                << matrices << " matrices, " << row << ", " << col;
          }
    }
}

struct Element {
  size_t row, col;
};
// [PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type"; element i of a lane]
Element place_in_a(size_t lane, size_t i) {
  const size_t group = lane >> 2, in_group = lane % 4;
  return {i < 2 || (4 <= i && i < 6) ? group : group + 8,
          i < 4 ? in_group * 2 + (i & 1) : in_group * 2 + (i & 1) + 8};
}
Element place_in_b(size_t lane, size_t i) {
  const size_t group = lane >> 2, in_group = lane % 4;
  return {i < 2 ? in_group * 2 + (i & 1) : in_group * 2 + (i & 1) + 8, group};
}
Element place_in_c(size_t lane, size_t i) {
  const size_t group = lane >> 2, in_group = lane % 4;
  return {i < 2 ? group : group + 8, in_group * 2 + (i & 1)};
}

uint16_t bits_of(float value, bool is_bf16) { return is_bf16 ? bf16(value).bits : f16(value).bits; }

struct Matrices {
  std::vector<float> a, b, c;  // [16, 16], [16, 8], [16, 8], row-major
};

std::vector<float> product_of(const Matrices& m, bool is_bf16) {
  Product p{std::vector<uint32_t>(128), std::vector<uint32_t>(64), std::vector<float>(128)};
  for (size_t lane = 0; lane < 32; ++lane) {
    for (size_t i = 0; i < 8; ++i) {
      const auto [row, col] = place_in_a(lane, i);
      p.a[lane * 4 + i / 2] |= uint32_t{bits_of(m.a[row * 16 + col], is_bf16)} << (16 * (i % 2));
    }
    for (size_t i = 0; i < 4; ++i) {
      const auto [row, col] = place_in_b(lane, i);
      p.b[lane * 2 + i / 2] |= uint32_t{bits_of(m.b[row * 8 + col], is_bf16)} << (16 * (i % 2));
      const auto [c_row, c_col] = place_in_c(lane, i);
      p.c[lane * 4 + i] = m.c[c_row * 8 + c_col];
    }
  }
  const std::vector<float> fragments = product(p, is_bf16);
  std::vector<float> c(128);
  for (size_t lane = 0; lane < 32; ++lane)
    for (size_t i = 0; i < 4; ++i) {
      const auto [row, col] = place_in_c(lane, i);
      c[row * 8 + col] = fragments[lane * 4 + i];
    }
  return c;
}

// Small whole numbers: every sum is exact in any order.
Matrices whole_numbers(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<int> number(-9, 9);
  Matrices m{std::vector<float>(256), std::vector<float>(128), std::vector<float>(128)};
  for (std::vector<float>* values : {&m.a, &m.b, &m.c})
    for (float& value : *values) value = static_cast<float>(number(random));
  return m;
}

std::vector<float> exact_product(const Matrices& m) {
  std::vector<float> c = m.c;
  for (size_t row = 0; row < 16; ++row)
    for (size_t col = 0; col < 8; ++col)
      for (size_t k = 0; k < 16; ++k) c[row * 8 + col] += m.a[row * 16 + k] * m.b[k * 8 + col];
  return c;
}

TEST(Intrinsics, ProductsTakeTheFragmentsOfTheManual) {
  for (bool is_bf16 : {false, true})
    for (uint64_t seed : {1, 2, 3}) {
      const Matrices m = whole_numbers(seed);
      EXPECT_EQ(product_of(m, is_bf16), exact_product(m)) << is_bf16;
    }
}

// Fragments loaded by ldmatrix are passed to mma directly.
TEST(Intrinsics, LoadedMatricesMultiply) {
  for (bool is_bf16 : {false, true}) {
    Matrices m = whole_numbers(4);
    m.c.assign(128, 0.0f);
    std::vector<uint16_t> a, b;
    for (float value : m.a) a.push_back(bits_of(value, is_bf16));
    for (float value : m.b) b.push_back(bits_of(value, is_bf16));
    EXPECT_EQ(whole_product(a, b, is_bf16), exact_product(m)) << is_bf16;
  }
}

// Devices may add in any way; the emulator adds in the least exact way that was found on a device.
#ifdef REPRISE_CUDA_ON_CPU
TEST(Intrinsics, SumsOfProductsAreCutOffNotRounded) {
  Matrices m{std::vector<float>(256), std::vector<float>(128), std::vector<float>(128, 1.0f)};
  m.a[0] = 0x1p-12f;  // row 0: 1 + 2^-24 * 1.5
  m.b[0] = 1.5f * 0x1p-12f;
  m.a[16] = -0x1p-15f;  // row 1: 1 - 2^-27 * 1.5
  EXPECT_EQ(product_of(m, true)[0], 1.0f);
  EXPECT_EQ(product_of(m, true)[8], 1.0f - 0x1p-24f);
}
#endif

TEST(Intrinsics, ProductsKeepNanAndInfinity) {
  Matrices m = whole_numbers(5);
  m.b[0] = 2.0f;
  m.a[0] = kNan;
  EXPECT_TRUE(std::isnan(product_of(m, false)[0]));
  m.a[0] = kInf;
  EXPECT_EQ(product_of(m, false)[0], kInf);
}

TEST(Intrinsics, CopiesFillWithZeroWhatTheSourceDoesNotGive) {
  for (int bytes : {4, 8, 16})
    for (int source_bytes = 0; source_bytes <= bytes; ++source_bytes) {
      std::vector<uint8_t> want(16, 0xee);
      for (int i = 0; i < bytes; ++i)
        want[static_cast<size_t>(i)] = static_cast<uint8_t>(i < source_bytes ? i + 1 : 0);
      EXPECT_EQ(copied(bytes, source_bytes), want) << bytes << " " << source_bytes;
    }
}

// [PTX ISA, ex2.approx.ftz.f32: 2^-22 relative; its table of special values]
TEST(Intrinsics, PowersOfTwoAreWithinTheManualsError) {
  std::vector<float> x;
  for (int i = -126 * 8; i < 128 * 8; ++i) x.push_back(static_cast<float>(i) / 8.0f + 0.01f);
  const std::vector<float> y = exp2_of(x);
  for (size_t i = 0; i < x.size(); ++i) {
    const double want = std::exp2(static_cast<double>(x[i]));
    EXPECT_LE(std::abs(static_cast<double>(y[i]) - want), want * 0x1p-22) << x[i];
  }
  const std::vector<float> special = exp2_of({-kInf, -127.0f, -0.0f, 0.0f, -126.0f, kInf, kNan});
  for (size_t i : {0, 1}) EXPECT_EQ(special[i], 0.0f) << i;
  for (size_t i : {2, 3}) EXPECT_EQ(special[i], 1.0f) << i;
  EXPECT_EQ(special[4], 0x1p-126f);
  EXPECT_EQ(special[5], kInf);
  EXPECT_TRUE(std::isnan(special[6]));
}

// [PTX ISA, fma: rounded once, ties to even]
TEST(Intrinsics, PairsAreMultipliedAndAddedWithOneRounding) {
  const std::vector<float> a = {143.0f, 128.0f, 3.0f, -2.0f, 1.5f, 255.0f},
                           b = {1.0f, 1.0f, 0.5f, 7.0f, 1.5f, 255.0f},
                           c = {-128.0f, -128.0f, 0.25f, 14.0f, 0.0f, 1.0f};
  EXPECT_EQ(sums_of_pairs(a, b, c, true),
            (std::vector<float>{15.0f, 0.0f, 1.75f, 0.0f, 2.25f, 65024.0f}));
  EXPECT_EQ(sums_of_pairs(a, b, c, false),
            (std::vector<float>{15.0f, 0.0f, 1.75f, 0.0f, 2.25f, 65024.0f}));
}

// [PTX ISA, cvt.rn: ties to even; NaN becomes 0x7fff; f16 overflows to infinity]
TEST(Intrinsics, PairsAreRoundedToNearestEven) {
  const std::vector<float> x = {1.0f,
                                -2.0f,
                                1.0f + 0x1p-8f,
                                1.0f + 0x1.8p-7f,
                                1.0f + 0x1p-11f,
                                1.0f + 0x1.8p-10f,
                                65520.0f,
                                65519.0f,
                                kNan,
                                -kInf,
                                0x1p-25f,
                                0x1.8p-25f};
  const Packed to_bf16 = packed(x, true), to_f16 = packed(x, false);
  EXPECT_EQ(to_bf16.pairs, (std::vector<uint32_t>{0xc0003f80u, 0x3f823f80u, 0x3f803f80u,
                                                  0x47804780u, 0xff807fffu, 0x33403300u}));
  EXPECT_EQ(to_f16.pairs, (std::vector<uint32_t>{0xc0003c00u, 0x3c0c3c04u, 0x3c023c00u, 0x7bff7c00u,
                                                 0xfc007fffu, 0x00010000u}));
  for (const Packed* got : {&to_bf16, &to_f16})
    for (size_t i = 0; i < x.size(); ++i) {
      const auto bits = static_cast<uint16_t>(got->pairs[i / 2] >> (16 * (i % 2)));
      bf16 as_bf16;
      f16 as_f16;
      as_bf16.bits = as_f16.bits = bits;
      const float want = got == &to_bf16 ? static_cast<float>(as_bf16) : static_cast<float>(as_f16);
      if (std::isnan(x[i])) {
        EXPECT_TRUE(std::isnan(got->unpacked[i]));
      } else {
        EXPECT_EQ(got->unpacked[i], want) << x[i];
      }
    }
}

TEST(Intrinsics, ThreadsAndBlocksAreCountedWithXFastest) {
  const std::array<unsigned, 3> grid = {3, 2, 2}, block = {5, 3, 2};
  const auto got = indices(grid, block);
  size_t at = 0;
  for (unsigned bz = 0; bz < 2; ++bz)
    for (unsigned by = 0; by < 2; ++by)
      for (unsigned bx = 0; bx < 3; ++bx)
        for (unsigned tz = 0; tz < 2; ++tz)
          for (unsigned ty = 0; ty < 3; ++ty)
            for (unsigned tx = 0; tx < 5; ++tx)
              EXPECT_EQ(got[at++], (std::array<unsigned, 6>{tx, ty, tz, bx, by, bz}));
}

TEST(Intrinsics, AtomicsLoseNothing) {
  const Atomics got = atomics(100);
  EXPECT_EQ(got.sum, 4950);
  EXPECT_EQ(got.largest, 99);
  EXPECT_EQ(got.float_sum, 50.0f);
  EXPECT_EQ(got.wrapped, 100u % 7);
}

// Tests the matrix descriptor and its strides, for rows that are B's columns (keys) and rows that
// are B's rows (values), at every place of a tile's 64 rows from which a kernel takes 16.
TEST(Intrinsics, AWarpgroupMultipliesWhatTheDescriptorSays) {
  if (!cuda_on_cpu::device_has_warpgroups())
    GTEST_SKIP() << "wgmma: compute capability 9.0 and code for sm_90a";
  std::mt19937_64 random(3);
  std::uniform_int_distribution<int> number(-9, 9);
  const auto draw = [&](size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(number(random));
    return values;
  };
  const auto half = [](const std::vector<float>& values, bool is_bf16) {
    std::vector<uint16_t> bits;
    for (const float value : values) bits.push_back(bits_of(value, is_bf16));
    return bits;
  };
  for (const bool is_bf16 : {true, false})
    for (const bool is_transposed : {false, true})
      for (const size_t n : {64, 128})
        for (const size_t first : {0, 16, 32, 48}) {
          const std::vector<float> a = draw(64 * 16), b = draw(64 * n), c = draw(64 * n);
          std::vector<float> want = c;
          for (size_t row = 0; row < 64; ++row)
            for (size_t column = 0; column < n; ++column)
              for (size_t k = 0; k < 16; ++k)
                want[row * n + column] +=
                    a[row * 16 + k] *
                    (is_transposed ? b[(first + k) * n + column] : b[column * 64 + first + k]);
          EXPECT_EQ(warpgroup_product({.a = half(a, is_bf16),
                                       .b = half(b, is_bf16),
                                       .c = c,
                                       .n = static_cast<int>(n),
                                       .first = static_cast<int>(first),
                                       .is_transposed = is_transposed,
                                       .is_bf16 = is_bf16}),
                    want)
              << (is_bf16 ? "bf16" : "f16") << (is_transposed ? " transposed" : "") << " n " << n
              << " first " << first;
        }
}

TEST(Intrinsics, ABoxIsCopiedToTheSwizzledRowsOfAPanel) {
  if (!cuda_on_cpu::device_has_warpgroups())
    GTEST_SKIP() << "copies of boxes: compute capability 9.0 and code for sm_90a";
  for (const size_t columns : {64, 128}) {
    std::vector<uint16_t> matrix(24 * columns);
    for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<uint16_t>(7 * i + 1);
    for (const size_t row : {0, 5, 16})
      for (size_t column = 0; column < columns; column += 64) {
        std::vector<uint16_t> want(512);
        for (size_t i = 0; i < 512; ++i) {
          const size_t in_row = i / 64, chunk = i % 64 / 8 ^ in_row;
          want[i] = matrix[(row + in_row) * columns + column + 8 * chunk + i % 8];
        }
        EXPECT_EQ(copied_box(matrix, static_cast<int>(columns), static_cast<int>(row),
                             static_cast<int>(column)),
                  want)
            << columns << " columns, box at " << row << ", " << column;
      }
  }
}

TEST(Intrinsics, PhasesOfABarrierCountFromZero) {
  const std::vector<int> got = exchanged(9);
  for (size_t k = 0; k < 9; ++k)
    for (size_t thread = 0; thread < 96; ++thread)
      ASSERT_EQ(got[k * 96 + thread], static_cast<int>(100 * k + (thread + 32) % 96))
          << "round " << k << " thread " << thread;
}

TEST(Intrinsics, ARingHandsEveryTileFromWarpToWarp) {
  for (size_t tiles : {1, 2, 3, 4, 17}) {
    std::vector<int> numbers(tiles * 64), want(64, 0);
    for (size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<int>(i * i % 1009);
      want[i % 64] += static_cast<int>(i / 64 + 1) * numbers[i];
    }
    EXPECT_EQ(ring_sums(numbers), want) << tiles << " tiles";
  }
}

}  // namespace
}  // namespace reprise::kernels::cuda::intrinsics
