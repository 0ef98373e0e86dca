// Prints, for steps of known shapes, what their attention moves and computes at least, what the
// tiles make of it, and the least time of both on each GPU: a JSON object a line. Arithmetic alone,
// no device.
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/kernels/cuda/schedule.h"

namespace reprise::kernels::cuda {
namespace {

struct Heads {
  const char* model;
  int64_t heads, kv_heads, head_dim;
};
constexpr Heads kLlama2 = {"llama-2-7b", 32, 32, 128};
constexpr Heads kLlama3 = {"llama-3-8b", 32, 8, 128};
constexpr Heads kFalcon = {"falcon-7b", 71, 1, 64};

// `rows` sequences that share `shared` tokens and have `own` more each, in blocks of 16; in prefill
// one sequence's own tokens are the rows.
struct Step {
  const char* what;
  Heads heads;
  int32_t rows, shared, own;
  bool is_prefill = false;
};
constexpr Step kSteps[] = {
    {"prefill of 2048 tokens", kLlama2, 2048, 0, 2048, true},
    {"prefill of 2048 tokens", kLlama3, 2048, 0, 2048, true},
    {"prefill of 256 tokens after 2048 cached ones", kLlama2, 256, 2048, 256, true},
    {"decode of 32 sequences, nothing shared", kLlama2, 32, 0, 4096},
    {"decode of 32 sequences, half of the prompt shared", kLlama2, 32, 2048, 2048},
    {"decode of 32 sequences, the prompt shared", kLlama2, 32, 4096, 64},
    {"decode of 32 sequences, nothing shared", kLlama3, 32, 0, 4096},
    {"decode of 32 sequences, the prompt shared", kLlama3, 32, 4096, 64},
    {"decode of 32 sequences, nothing shared", kFalcon, 32, 0, 2048},
    {"decode of one sequence", kLlama3, 1, 0, 32768},
};

int32_t add_segment(kv::AttentionPlan& plan, int32_t tokens, int32_t first_position) {
  constexpr int32_t kBlockTokens = 16;
  const std::vector<int64_t> blocks(
      static_cast<size_t>((tokens + kBlockTokens - 1) / kBlockTokens));
  return plan.add_segment(
      {.block_tokens = kBlockTokens, .tokens = tokens, .first_position = first_position}, blocks);
}

kv::AttentionPlan plan_of(const Step& step) {
  kv::AttentionPlan plan;
  plan.begin({.dtype = DType::kBF16,
              .device = Device::kCuda,
              .kv_heads = step.heads.kv_heads,
              .head_dim = step.heads.head_dim});
  for (int32_t row = 0; row < step.rows; ++row) {
    const int32_t position = step.shared + (step.is_prefill ? row : step.own - 1);
    plan.row_positions.push_back(position);
    plan.row_lengths.push_back(position + 1);
    plan.row_slots.push_back(kv::kNoSlot);
  }
  if (step.shared > 0)
    plan.add_item(
        {.segment = add_segment(plan, step.shared, 0), .first_row = 0, .end_row = step.rows});
  if (step.is_prefill) {
    plan.add_item({.segment = add_segment(plan, step.own, step.shared),
                   .first_row = 0,
                   .end_row = step.rows,
                   .mask = kv::Mask::kCausal,
                   .visible = 1});
  } else {
    for (int32_t row = 0; row < step.rows; ++row)
      plan.add_item({.segment = add_segment(plan, step.own, step.shared),
                     .first_row = row,
                     .end_row = row + 1});
  }
  plan.finish();
  return plan;
}

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
  const kv::AttentionPlan plan = plan_of(step);
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

}  // namespace
}  // namespace reprise::kernels::cuda

int main() {
  using namespace reprise::kernels::cuda;
  for (const Step& step : kSteps)
    for (const GpuModel& gpu : {kA100, kH100, kH200}) print(step, gpu);
}
