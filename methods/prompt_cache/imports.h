// What requests import: states that every new token of a request sees, in place wherever they lie,
// as contributions to the plans of any method.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/kv/plan.h"
#include "core/kv/segment_store.h"
#include "core/model/network/layer_policy.h"
#include "core/reuse/reuse_method.h"

namespace reprise::prompt_cache {

// Cached states in one piece of memory, as long as somebody holds them. Two requests that hold the
// same object share what they read of it.
struct SharedStates {
  kv::CacheView view;
  std::shared_ptr<const void> owner;
  // What `owner` is where the states may not have been checked yet (Verify::kHeader), else null.
  const kv::SegmentHandle* unchecked = nullptr;
};

// Tokens [first, first + tokens) of some states.
struct StateRun {
  std::shared_ptr<const SharedStates> states;
  int32_t first = 0, tokens = 0;
  int32_t first_position = 0;
};

// Appends a run's segment; `cache` is the index of its states' view in the plan. Returns the
// segment's index.
int32_t add_run(const StateRun& run, int32_t cache, kv::AttentionPlan& plan);

// Reads states that lie in files ahead of whoever uses them, layer after layer, by a thread of its
// own until it has them all or is destroyed. Layers that are damaged are left to that user's
// check_layer().
class LayerReader {
 public:
  explicit LayerReader(std::vector<std::shared_ptr<const SharedStates>> states);

 private:
  std::jthread thread_;
};

// Each run that a request imports is one segment of the plan. Requests side by side in a step that
// import the same run read it once, in one work item over all their rows. [Prompt Cache §3.4; the
// sharing within a batch is its future work]
class ModuleImports final : public reuse::PlanContributor {
 public:
  // From now on the request's tokens from `first_token` on see `runs`; those before it, which it
  // shares with requests that import nothing, do not. The request must not run yet, and says
  // Request::shareable_tokens = first_token.
  void attach(reuse::RequestId id, std::vector<StateRun> runs, int32_t first_token = 0);
  // When the request has ended, for its id to be used again and its states to be given up.
  void detach(reuse::RequestId id);

  void append(reuse::StepBatch batch, kv::AttentionPlan& plan) override;
  [[nodiscard]] bool goes_on(reuse::StepBatch batch) const override;

  // Checks a layer of all unchecked states that the latest plan reads. Throws as
  // SegmentHandle::check_layer().
  void check_layer(int64_t layer) const;

  // Of the plan appended last.
  struct PlanUse {
    int32_t segments = 0, items = 0;
    int64_t imported_tokens = 0;  // summed over requests
    int64_t read_tokens = 0;      // summed over work items: what is shared counts once
  };
  [[nodiscard]] const PlanUse& last_use() const { return use_; }

 private:
  struct Imports {
    std::vector<StateRun> runs;
    int32_t first_token = 0;
    std::unique_ptr<LayerReader> reader = {};  // null: nothing to be read
  };
  std::unordered_map<reuse::RequestId, Imports> imports_;
  PlanUse use_;
  // Whether the latest contribution holds as long as its sequences go on by single tokens.
  bool is_lasting_ = false;
  std::vector<std::shared_ptr<const SharedStates>> unchecked_;  // that the latest plan reads
};

// For an engine whose requests import states that are read from files as they are used: each layer
// is checked before it is attended to, so that a step over damaged states throws and nothing is
// drawn from them. Layers compute as they are.
class CheckedLayers final : public model::LayerPolicy {
 public:
  explicit CheckedLayers(std::shared_ptr<const ModuleImports> imports)
      : imports_(std::move(imports)) {}
  model::LayerChoice choose(model::LayerInput& input) override {
    imports_->check_layer(input.layer());
    return {};
  }

 private:
  std::shared_ptr<const ModuleImports> imports_;
};

}  // namespace reprise::prompt_cache
