#include "core/engine/step_time_model.h"

#include <cmath>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/kernels/attention/attention_schedule.h"

namespace reprise::engine {
namespace {

void check_time(const char* name, double seconds) {
  if (!(seconds >= 0 && std::isfinite(seconds)))
    raise("{} of the step-time model is {}: give 0 seconds or more", name, seconds);
}

int64_t tokens_read(const kv::AttentionPlan& plan, int64_t window) {
  int64_t tokens = 0;
  for (const kv::WorkItem& item : plan.items)
    tokens += kernels::seen_keys(plan, item, item.first_row, item.end_row, window).count();
  return tokens;
}

}  // namespace

StepTimeModel::StepTimeModel(model::ModelConfig config, const StepTimes& times,
                             std::shared_ptr<VirtualClock> clock)
    : config_(std::move(config)), times_(times), clock_(std::move(clock)) {
  check_time("step_s", times.step_s);
  check_time("row_s", times.row_s);
  check_time("context_token_s", times.context_token_s);
}

void StepTimeModel::execute(const StepWork& work, std::span<int32_t> tokens) {
  const int64_t read = tokens_read(work.plan, config_.sliding_window);
  const double seconds = times_.step_s + times_.row_s * work.plan.rows() +
                         times_.context_token_s * static_cast<double>(read);
  clock_->advance_by(std::llround(seconds * 1e9));
  for (size_t i = 0; i < work.draws.size(); ++i) {
    const TokenDraw& draw = work.draws[i];
    tokens[i] =
        static_cast<int32_t>(random_bits(draw.options->seed, static_cast<uint64_t>(draw.request),
                                         static_cast<uint64_t>(draw.index)) %
                             static_cast<uint64_t>(config_.vocab));
  }
}

std::span<const float> StepTimeModel::logits(int32_t /*n*/) const {
  raise("a step-time model has no logits: run the model itself to look at them");
}

}  // namespace reprise::engine
