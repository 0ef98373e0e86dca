// Prints one JSON object per line for steps of known shapes: the least that their attention must
// move and compute, what the tiles move and compute, and the least time of both on each GPU. Then
// prints bytes and least times of the row kernels and of the attention map kernels. With --tiles,
// prints the dynamic shared memory of each compiled attention kernel, for tools/gpu_resources.py.
// Needs no device.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>

#include "core/base/json.h"
#include "core/kernels/attention/cuda/schedule.h"
#include "tests/core/kernels/attention/cuda/attention_steps.h"
#include "tests/core/kernels/attention_map/cuda/map_cases.h"
#include "tests/core/kernels/shared/cuda/row_cases.h"
#include "tests/support/json.h"

namespace reprise::kernels::cuda {
namespace {

using testing::kSteps;
using testing::Step;

constexpr GpuModel kGpus[] = {kA100, kH100, kH200};

double rounded(double value) { return std::round(value * 100.0) / 100.0; }

Json work_json(const AttentionWork& work, const GpuModel& gpu) {
  const Roofline roofline = roofline_of(work, gpu);
  return {{"kv_bytes", work.kv_bytes},
          {"reread_bytes", work.reread_bytes},
          {"query_bytes", work.query_bytes},
          {"output_bytes", work.output_bytes},
          {"partial_bytes", work.partial_bytes},
          {"flops", work.flops},
          {"exponentials", work.exponentials},
          {"memory_us", rounded(roofline.memory_us)},
          {"l2_us", rounded(roofline.l2_us)},
          {"product_us", rounded(roofline.product_us)},
          {"exponential_us", rounded(roofline.exponential_us)},
          {"least_us", rounded(roofline.least_us())},
          {"limit", roofline.limit()}};
}

Json launches_json(const StepSchedule& schedule, int64_t kv_heads) {
  Json launches = Json::array();
  for (const TileLaunch& launch : schedule.launches)
    launches.push_back({{"tile", text_of(kTileShapes[static_cast<size_t>(launch.shape)])},
                        {"blocks", (launch.end_task - launch.first_task) * kv_heads}});
  return launches;
}

void print(const Step& step, const GpuModel& gpu) {
  const kv::AttentionPlan plan = plan_of(step, cache_of(step));
  StepSchedule schedule;
  schedule.build(plan, step.heads.heads, {}, gpu);
  const Json line = {{"what", step.what},
                     {"model", step.heads.model},
                     {"gpu", gpu.name},
                     {"least", work_json(least_work(plan, step.heads.heads, {}), gpu)},
                     {"tiled", work_json(tiled_work(schedule, plan, {}), gpu)},
                     {"launches", launches_json(schedule, step.heads.kv_heads)},
                     {"estimate_us", rounded(schedule.estimate_us)}};
  std::printf("%s\n", line.dump().c_str());
}

void print(const testing::RowCase& row_case) {
  Json line = {{"kernel", row_case.name},
               {"what", row_case.what},
               {"rows", row_case.rows},
               {"bytes", row_case.bytes}};
  for (const GpuModel& gpu : kGpus)
    line["least_us"][std::string(gpu.name)] = rounded(row_case.bytes / gpu.dram_bytes_per_us());
  std::printf("%s\n", line.dump().c_str());
}

// Prints a row for a map kernel. Its least time is that of its bytes or of its products, whichever
// is longer.
void print(const testing::MapCase& one) {
  Json line = {{"kernel", one.name},
               {"what", one.what},
               {"tokens", one.tokens},
               {"bytes", one.bytes()},
               {"flops", one.flops()}};
  for (const GpuModel& gpu : kGpus)
    line["least_us"][std::string(gpu.name)] =
        rounded(std::max(one.bytes() / gpu.dram_bytes_per_us(), one.flops() / gpu.flops_per_us()));
  std::printf("%s\n", line.dump().c_str());
}

// Names as a demangler writes them: AttentionTile<type, head size, place in kTileShapes, bias>.
void print_tiles() {
  for (size_t shape = 0; shape < kTileShapes.size(); ++shape)
    for (const int head_dim : kHeadDims) {
      if (!kTileShapes[shape].has_head_dim(head_dim)) continue;
      const Json line = {{"kernel", "AttentionTile<[^,]*, " + std::to_string(head_dim) + ", " +
                                        std::to_string(shape) + ", (true|false)>"},
                         {"tile", text_of(kTileShapes[shape])},
                         {"dynamic_shared_bytes", kTileShapes[shape].shared_bytes(head_dim)}};
      std::printf("%s\n", line.dump().c_str());
    }
}

}  // namespace
}  // namespace reprise::kernels::cuda

int main(int argc, char** argv) {
  using namespace reprise::kernels::cuda;
  if (argc > 1 && std::string_view(argv[1]) == "--tiles") {
    print_tiles();
    return 0;
  }
  for (const Step& step : kSteps)
    for (const GpuModel& gpu : kGpus) print(step, gpu);
  for (const testing::RowCase& row_case : testing::row_cases()) print(row_case);
  for (const testing::MapCase& one : testing::map_cases()) print(one);
}
