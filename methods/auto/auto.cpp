#include "methods/auto/auto.h"

namespace reprise::methods {

reuse::PrefixTreeCacheOptions auto_tree(const reuse::TreeOptions& options) {
  return {.tree = {.chunk_tokens = options.chunk_tokens,
                   .matching = reuse::Matching::kPinnedAndChunks,
                   .retain = options.retain},
          .reuse_prefill = options.reuse_prefill};
}

Auto::Auto(const reuse::TreeOptions& options) : Auto(options, std::make_shared<PlanCosts>()) {}

Auto::Auto(const reuse::TreeOptions& options, std::shared_ptr<PlanCosts> costs)
    : PrefixTreeCache(auto_tree(options),
                      [costs](const reuse::TreeNode& node) {
                        return costs->sharing_pays(node.tokens, node.sequences, node.rows,
                                                   node.cuts_reading);
                      }),
      costs_(std::move(costs)) {}

void Auto::tune(const reuse::PlanSetting& setting) { *costs_ = plan_costs(setting); }

}  // namespace reprise::methods
