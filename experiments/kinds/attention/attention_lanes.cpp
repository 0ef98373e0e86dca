#include "experiments/kinds/attention/attention_lanes.h"

#include <cmath>

#include "core/base/error.h"

namespace reprise::experiments {

AttentionLanes::AttentionLanes(const Group& group, const AttentionProblem& problem,
                               const Context& context)
    : group_(group),
      problem_(problem),
      values_(problem_),
      context_(context),
      operators_(make_operators(group.methods, problem_, values_, context)),
      deviations_(group.methods.size()) {}

bool AttentionLanes::advance_to(int64_t step) {
  const bool moves = step_ < step;
  for (; step_ < step; ++step_)
    for (const auto& one : operators_) one->advance();
  return moves;
}

void AttentionLanes::settle() {
  for (const auto& one : operators_) one->settle();
}

void AttentionLanes::validate() {
  settle();
  const ExactAttention exact(problem_, values_, keys_at(step_), context_);
  std::vector<float> output(static_cast<size_t>(problem_.batch * problem_.q_dim()));
  for (size_t m = 0; m < operators_.size(); ++m) {
    operators_[m]->attend();
    operators_[m]->read_output(output);
    const Deviation deviation = deviation_of(exact, output, operators_[m]->rounding());
    require_right(m, deviation);
    deviations_[m].include(deviation);
  }
}

void AttentionLanes::require_right(size_t method, const Deviation& deviation) const {
  const bool is_exact = operators_[method]->exactness() == methods::Exactness::kExact;
  if (is_exact ? deviation.bound_share <= 1 : std::isfinite(deviation.bound_share)) return;
  raise(
      "{}: {} is off the definition of attention: sequence {}, head {} by {:.2f} times what "
      "rounding in {} explains{}. Its plan or a kernel is wrong, and its times would mean nothing.",
      group_.label, label_of(group_.methods[method]), deviation.sequence, deviation.head,
      deviation.bound_share, name_of(problem_.kv_dtype),
      std::isfinite(deviation.bound_share) ? "" : " (an output is no finite number)");
}

std::optional<AttentionProblem> finest_shadow(const AttentionProblem& problem, Device device) {
  const DType finest = device == Device::kCpu ? DType::kF32 : DType::kF16;
  if (problem.kv_dtype == finest) return std::nullopt;
  AttentionProblem shadow = problem;
  shadow.heads = problem.heads / problem.kv_heads;
  shadow.kv_heads = 1;
  shadow.kv_dtype = finest;
  return shadow;
}

}  // namespace reprise::experiments
