#include "core/model/network/policy_chain.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"

namespace reprise::model {

PolicyChain::PolicyChain(std::vector<std::shared_ptr<LayerPolicy>> policies)
    : policies_(std::move(policies)), wants_map_(policies_.size(), false) {
  for (const auto& policy : policies_) REPRISE_CHECK(policy != nullptr, "a chain with a gap");
}

bool PolicyChain::has_a_say() const {
  return std::any_of(policies_.begin(), policies_.end(),
                     [](const auto& policy) { return policy->has_a_say(); });
}

LayerChoice PolicyChain::choose(LayerInput& input) {
  LayerChoice together;
  for (size_t i = 0; i < policies_.size(); ++i) {
    const LayerChoice choice = policies_[i]->choose(input);
    wants_map_[i] = choice.show_map;
    if (choice.action != LayerAction::kCompute) {
      for (size_t other = 0; other < policies_.size(); ++other)
        if (other != i) policies_[other]->overruled(input.layer());
      return choice;
    }
    together.keep_map |= choice.keep_map;
    together.show_map |= choice.show_map;
  }
  return together;
}

bool PolicyChain::is_of_prefill_alone() const {
  return std::any_of(policies_.begin(), policies_.end(),
                     [](const auto& policy) { return policy->is_of_prefill_alone(); });
}

void PolicyChain::observe_map(int64_t layer, const kernels::MapView& map) {
  for (size_t i = 0; i < policies_.size(); ++i)
    if (wants_map_[i]) policies_[i]->observe_map(layer, map);
}

bool PolicyChain::reads_residual() const {
  return std::any_of(policies_.begin(), policies_.end(),
                     [](const auto& policy) { return policy->reads_residual(); });
}

void PolicyChain::passed(int64_t layer, BlockPoint point, const TensorView& residual) {
  for (const auto& policy : policies_) policy->passed(layer, point, residual);
}

void PolicyChain::overruled(int64_t layer) {
  for (const auto& policy : policies_) policy->overruled(layer);
}

}  // namespace reprise::model
