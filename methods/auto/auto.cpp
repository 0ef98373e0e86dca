#include "methods/auto/auto.h"

namespace reprise::methods {

Auto::Auto(const engine::TreeOptions& options)
    : Auto(options, std::make_shared<engine::PlanCosts>()) {}

Auto::Auto(const engine::TreeOptions& options, std::shared_ptr<engine::PlanCosts> costs)
    : PrefixTreeMethod({.tree = {.chunk_tokens = options.chunk_tokens,
                                 .matching = kv::Matching::kDeclaredAndChunks,
                                 .retain = options.retain},
                        .reuse_prefill = options.reuse_prefill},
                       [costs](const engine::TreeNode& node) {
                         return costs->sharing_pays(node.tokens, node.sequences, node.rows,
                                                    node.cuts_reading);
                       }),
      costs_(std::move(costs)) {}

void Auto::tune(const engine::PlanSetting& setting) { *costs_ = engine::plan_costs(setting); }

}  // namespace reprise::methods
