// What requests import: states that every new token of a request sees, in place wherever they lie,
// as contributions to the plans of any method.
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

// Cached states in one piece of memory, as long as somebody holds them. Two requests that hold the
// same object share what they read of it.
struct SharedStates {
  kv::CacheView view;
  std::shared_ptr<const void> owner;
  // Where the states may not have been checked yet (Verify::kHeader), else null. Lives with
  // `owner`.
  const kv::SegmentHandle* unchecked = nullptr;
  // Where the view is a device's, which layers may still have to be copied to; else null.
  // Lives with `owner`.
  kv::DeviceSegment* arriving = nullptr;

  // Whether prepare_layer() has something left to do.
  [[nodiscard]] bool is_pending() const {
    return arriving != nullptr ? !arriving->is_whole() : unchecked != nullptr;
  }
};

// Tokens [first, first + tokens) of some states.
struct StateRun {
  std::shared_ptr<const SharedStates> states;
  int32_t first = 0, tokens = 0;
  int32_t first_position = 0;
};

// Of states that arrive at a device, all layers are there for work that is given from here on.
// Throws as SegmentHandle::check_layer().
void bring_whole(const std::vector<StateRun>& runs);

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

  // Makes a layer ready of all states that the latest plan reads: checked, where that has not been
  // done, and on the device that computes, where the copy of the next one then begins. Throws as
  // SegmentHandle::check_layer().
  void prepare_layer(int64_t layer) const;
  // Whether there are states for which that does something.
  [[nodiscard]] bool is_pending() const;

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
  std::vector<std::shared_ptr<const SharedStates>> pending_;  // that the latest plan reads
};

// For an engine whose requests import states that are read from files or copied to a device as they
// are used: each layer is made ready before it is attended to. A step over damaged states throws,
// and nothing is drawn from them. Layers compute as they are.
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
