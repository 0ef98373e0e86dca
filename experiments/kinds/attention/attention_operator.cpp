#include "experiments/kinds/attention/attention_operator.h"

#include <algorithm>

#include "experiments/kinds/attention/plan_operator.h"
#include "experiments/kinds/attention/torch_operator.h"

namespace reprise::experiments {

double least_cache_bytes(const std::vector<MethodChoice>& methods, const AttentionProblem& problem,
                         Device device) {
  double pools = 0, largest_pool = 0, distinct = 0, contiguous = 0;
  for (const MethodChoice& method : methods) {
    if (is_torch_baseline(method.name)) {
      contiguous = static_cast<double>(PrivateCache::bytes(problem));
    } else {
      const double pool = pool_bytes(method, problem);
      pools += pool;
      largest_pool = std::max(largest_pool, pool);
      distinct += useful_kv_bytes(problem, problem.sequence_tokens());
    }
  }
  if (device != Device::kCpu) return pools + contiguous;
  if (largest_pool > 0) distinct -= useful_kv_bytes(problem, problem.sequence_tokens());
  return largest_pool + distinct + contiguous;
}

std::vector<std::unique_ptr<AttentionOperator>> make_operators(
    const std::vector<MethodChoice>& methods, const AttentionProblem& problem,
    const TokenValues& values, const Context& context) {
  std::vector<std::unique_ptr<AttentionOperator>> operators;
  std::shared_ptr<PrivateCache> cache;
  for (const MethodChoice& method : methods) {
    if (!is_torch_baseline(method.name)) {
      operators.push_back(std::make_unique<PlanOperator>(method, problem, values, context));
      continue;
    }
    if (!cache) cache = std::make_shared<PrivateCache>(problem, values, context);
    operators.push_back(
        std::make_unique<TorchAttentionOperator>(method, problem, values, cache, context));
  }
  return operators;
}

}  // namespace reprise::experiments
