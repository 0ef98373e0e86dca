#include "methods/auto/plan_cost.h"

#include <gtest/gtest.h>

namespace reprise::methods {
namespace {

// A machine of round numbers: 100 GB/s, 200 GB/s from an L3 of 32 MB, 1000 GFLOP/s in bf16.
PlanCosts costs(int64_t heads, int64_t kv_heads) {
  return {.setting = {.heads = heads,
                      .kv_heads = kv_heads,
                      .head_dim = 128,
                      .kv_dtype = DType::kBF16,
                      .context = {.threads = 2, .isa = Isa::kAvx512Bf16}},
          .machine = {.dram_read_gb_s = 100,
                      .l3_read_gb_s = 200,
                      .f32_gflop_s = 500,
                      .bf16_gflop_s = 1000},
          .l3_bytes = 32e6};
}

TEST(PlanCost, OneRowTakesAsLongAsItsBytesAndSomeOfItsProducts) {
  // Keys and values of 4096 tokens of 32 heads take 67.1 MB: 671 us at 100 GB/s. A lane has 67.1
  // MFLOP: 67.1 us. One row costs 3.1 + 1.87 lanes, and 0.15 of their time adds to that of the
  // reads.
  const double once = 671e-6 + 0.15 * 4.97 * 67.1e-6;
  EXPECT_NEAR(costs(32, 32).item_seconds(4096, 1, 1), once, 1e-6);
  // The bytes of eight such items do not stay in the L3, so each item reads them from DRAM.
  EXPECT_NEAR(costs(32, 32).item_seconds(4096, 1, 8), 8 * once, 8e-6);
}

TEST(PlanCost, WhatFitsIntoTheL3IsReadAgainFromThere) {
  // 64 tokens take 1.05 MB: 10.5 us from DRAM, 4.52 us from the L3 at 0.58 of 400 GB/s. The
  // products take 5.21 us.
  PlanCosts machine = costs(32, 32);
  machine.machine.l3_read_gb_s = 400;
  EXPECT_NEAR(machine.item_seconds(64, 1, 3),
              10.49e-6 + 0.15 * 5.21e-6 + 2 * (5.21e-6 + 0.15 * 4.52e-6), 0.1e-6);
  // An L3 never counts as slower than the memory behind it.
  machine.machine.l3_read_gb_s = 100;
  EXPECT_NEAR(machine.item_seconds(64, 1, 3), 3 * machine.item_seconds(64, 1, 1), 1e-12);
}

TEST(PlanCost, ManyRowsTakeAsLongAsTheirProducts) {
  // 64 rows of 4096 tokens: 67.1 us a lane, and the rows cost 12 + 1.1 * 64 lanes.
  EXPECT_NEAR(costs(32, 32).item_seconds(4096, 64, 1), 82.4 * 67.1e-6, 5e-6);
  // 17 lanes cost as much as 32.
  EXPECT_NEAR(costs(32, 32).item_seconds(4096, 17, 1), costs(32, 32).item_seconds(4096, 32, 1),
              1e-9);
}

TEST(PlanCost, WithAmxOnlyManyRowsAreComputedInTiles) {
  PlanCosts amx = costs(32, 32);
  amx.setting.context.isa = Isa::kAmx;
  amx.machine.bf16_gflop_s = 10000;
  amx.dot_gflop_s = 1000;
  EXPECT_NEAR(amx.item_seconds(4096, 1, 1), costs(32, 32).item_seconds(4096, 1, 1), 1e-12);
  // 256 rows of 4096 tokens: 6.71 us a lane, and the rows cost 110 + 5 * 256 lanes.
  EXPECT_NEAR(amx.item_seconds(4096, 256, 1), 1390 * 6.71e-6, 10e-6);
}

TEST(PlanCost, SharingPaysForManyRowsOfLongPrefixes) {
  EXPECT_TRUE(costs(32, 32).sharing_pays(4096, 32, 32));
  EXPECT_TRUE(costs(32, 32).sharing_pays(1024, 8, 8));
  EXPECT_FALSE(costs(32, 32).sharing_pays(4096, 1, 1));  // nobody to share with
  EXPECT_FALSE(costs(32, 32).sharing_pays(4096, 1, 512));
  EXPECT_FALSE(costs(32, 32).sharing_pays(1, 32, 32));  // merging costs more than a token,
  EXPECT_TRUE(costs(32, 32).sharing_pays(1, 2, 2, /*is_merged=*/true));  // unless it is due anyway
}

TEST(PlanCost, QueryHeadsThatShareAKvHeadLeaveLessToWin) {
  // Eight query heads read each kv head: a row alone is as near to the FLOP limit as to the bytes.
  const PlanCosts grouped = costs(32, 4), plain = costs(32, 32);
  const auto gain = [](const PlanCosts& c) {
    return c.item_seconds(4096, 1, 32) / c.item_seconds(4096, 32, 1);
  };
  EXPECT_GT(gain(plain), 5.0);
  EXPECT_LT(gain(grouped), gain(plain) / 2);
}

}  // namespace
}  // namespace reprise::methods
