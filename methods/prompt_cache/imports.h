// Cached states that requests import. Every new token of a request sees them. They are read in
// place, as segments that are added to the plans of any method.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/kv/plan.h"
#include "core/model/network/layer_policy.h"
#include "core/reuse/sequence_cache.h"
#include "core/store/device_segment.h"
#include "core/store/segment_store.h"

namespace reprise::prompt_cache {

// Cached states in one piece of memory, which lives as long as this object. Requests that hold the
// same object share reads of the states.
struct SharedStates {
  kv::CacheView view;
  std::shared_ptr<const void> owner;
  // Set if the states may not have been checked yet (Verify::kHeader), otherwise null. Owned by
  // `owner`.
  const kv::SegmentHandle* unchecked = nullptr;
  // Set if the view is in a device's memory, where layers may still have to be copied; otherwise
  // null. Owned by `owner`.
  kv::DeviceSegment* arriving = nullptr;

  // True if prepare_layer() still has work to do.
  [[nodiscard]] bool is_pending() const {
    return arriving != nullptr ? !arriving->is_whole() : unchecked != nullptr;
  }
};

// Tokens [first, first + tokens) of `states`.
struct StateRun {
  std::shared_ptr<const SharedStates> states;
  int32_t first = 0, tokens = 0;
  int32_t first_position = 0;
};

// Copies all missing layers of states on a device, so that work submitted from now on can read
// them. Throws as SegmentHandle::check_layer().
void bring_whole(const std::vector<StateRun>& runs);

// Appends a run's segment and returns its index. `cache` is the index of the states' view in the
// plan.
int32_t add_run(const StateRun& run, int32_t cache, kv::AttentionPlan& plan);

// Reads states in files ahead of their use, layer by layer, in a thread of its own. The thread
// stops when all is read, at a damaged layer (which check_layer() then reports to the user of the
// states), or when the LayerReader is destroyed.
class LayerReader {
 public:
  explicit LayerReader(std::vector<std::shared_ptr<const SharedStates>> states);

 private:
  std::jthread thread_;
};

// Adds one segment to the plan for each run that a request imports. Neighbouring requests of a step
// that import the same run read it once, in one work item over all their rows. [Prompt Cache §3.4;
// sharing within a batch is the paper's future work]
class ModuleImports final : public reuse::PlanContributor {
 public:
  // From now on the request's tokens see `runs`. The request must not have started. If there are
  // runs, it must set Request::shareable_tokens = 0, since its states differ from those of the same
  // tokens in requests without these imports.
  void attach(reuse::RequestId id, std::vector<StateRun> runs);
  // Called when the request has ended. Releases its states and its id.
  void detach(reuse::RequestId id);

  void append(reuse::StepBatch batch, kv::AttentionPlan& plan) override;
  [[nodiscard]] bool goes_on(reuse::StepBatch batch) const override;

  // Makes one layer of all states in the latest plan ready: checks it if it was not checked, copies
  // it to the device if the states are used there, and starts the copy of the next layer. Throws as
  // SegmentHandle::check_layer().
  void prepare_layer(int64_t layer) const;
  // True if prepare_layer() has work to do for some states.
  [[nodiscard]] bool is_pending() const;

  // Counts of the latest plan.
  struct PlanUse {
    int32_t segments = 0, items = 0;
    int64_t imported_tokens = 0;  // summed over requests
    int64_t read_tokens = 0;      // summed over work items, so shared reads count once
  };
  [[nodiscard]] const PlanUse& last_use() const { return use_; }

 private:
  struct Imports {
    std::vector<StateRun> runs;
    std::unique_ptr<LayerReader> reader = {};  // null: all states are in memory
  };
  std::unordered_map<reuse::RequestId, Imports> imports_;
  PlanUse use_;
  // True if the segments and work items of the latest append() stay valid while their sequences
  // grow by single tokens.
  bool is_lasting_ = false;
  std::vector<std::shared_ptr<const SharedStates>> pending_;  // pending states of the latest plan
};

// Makes each layer of imported states ready before the layer is computed, for states that are read
// from files or copied to a device while they are used. A step over damaged states throws, and no
// token is sampled from it. Does not change what layers compute.
class ReadyLayers final : public model::LayerPolicy {
 public:
  explicit ReadyLayers(std::shared_ptr<const ModuleImports> imports)
      : imports_(std::move(imports)) {}
  model::LayerChoice choose(model::LayerInput& input) override {
    imports_->prepare_layer(input.layer());
    return {};
  }
  [[nodiscard]] bool has_a_say() const override { return imports_->is_pending(); }

 private:
  std::shared_ptr<const ModuleImports> imports_;
};

}  // namespace reprise::prompt_cache
