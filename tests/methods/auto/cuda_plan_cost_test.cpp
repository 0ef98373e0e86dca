// Tests the cost of reading a prefix on a device, which the device's limits determine and not the
// CPU's.
#include "methods/auto/plan_cost.h"

#include "core/base/error.h"
#include "tests/core/kernels/device/cuda/device_context.h"

namespace reprise::methods {
namespace {

using CudaPlanCost = reprise::testing::OnDevice;

reuse::PlanSetting setting_of(const Context& context) {
  return {
      .heads = 32, .kv_heads = 32, .head_dim = 128, .kv_dtype = DType::kBF16, .context = context};
}

TEST_F(CudaPlanCost, TheDeviceDecidesAndTheProcessorIsNotMeasured) {
  PlanCosts costs = plan_costs(setting_of(context_));
  EXPECT_EQ(costs.machine.dram_read_gb_s, 0);
  EXPECT_TRUE(costs.sharing_pays(4096, 32, 32));
  EXPECT_TRUE(costs.sharing_pays(1024, 64, 64));
  EXPECT_FALSE(costs.sharing_pays(4096, 1, 1));  // nobody to share with
  EXPECT_TRUE(costs.sharing_pays(4096, 2, 2, /*is_merged=*/true));
  costs.setting.heads = costs.setting.kv_heads = 1;  // two blocks, which any device has room for
  EXPECT_FALSE(costs.sharing_pays(16, 2, 2));        // a launch to merge costs more than 16 tokens
  costs.setting.context.runtime = nullptr;
}

TEST_F(CudaPlanCost, ASettingWithoutItsDeviceIsRefused) {
  reuse::PlanSetting setting = setting_of(context_);
  setting.context.runtime = nullptr;
  const PlanCosts costs = plan_costs(setting);
  EXPECT_THROW((void)costs.sharing_pays(4096, 32, 32), Error);
}

}  // namespace
}  // namespace reprise::methods
