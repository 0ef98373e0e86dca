#include "methods/prompt_cache/imports.h"

#include <algorithm>
#include <map>
#include <system_error>
#include <tuple>

#include "core/base/error.h"
#include "core/device/background_work.h"

namespace reprise::prompt_cache {
namespace {

void read_ahead(const std::vector<std::shared_ptr<const SharedStates>>& states,
                const std::stop_token& stop) {
  // A check reads every byte of a layer. Meanwhile, the operating system already reads this many
  // following layers from the disk.
  constexpr int64_t kLayersAhead = 2;
  const int64_t layers = states.front()->unchecked->shape().layers;
  const auto fetch = [&](int64_t layer) {
    if (layer >= layers) return;
    for (const auto& one : states) one->unchecked->fetch_layer(layer);
  };
  for (int64_t layer = 0; layer < kLayersAhead; ++layer) fetch(layer);
  for (int64_t layer = 0; layer < layers && !stop.stop_requested(); ++layer) {
    fetch(layer + kLayersAhead);
    try {
      for (const auto& one : states) one->unchecked->check_layer(layer);
    } catch (const Error&) {
      return;
    }
  }
}

}  // namespace

void bring_whole(const std::vector<StateRun>& runs) {
  for (const StateRun& run : runs) {
    kv::DeviceSegment* segment = run.states->arriving;
    if (segment == nullptr || segment->is_whole()) continue;
    segment->begin_layers(segment->shape().layers - 1);
    segment->await_copies();
  }
}

int32_t add_run(const StateRun& run, int32_t cache, kv::AttentionPlan& plan) {
  const int64_t block = 0;
  return plan.add_segment({.cache = cache,
                           .block_tokens = run.first + run.tokens,
                           .skipped = run.first,
                           .tokens = run.tokens,
                           .first_position = run.first_position},
                          {&block, 1});
}

LayerReader::LayerReader(std::vector<std::shared_ptr<const SharedStates>> states) {
  try {
    thread_ = std::jthread([states = std::move(states)](const std::stop_token& stop) {
      const BackgroundWork this_thread;
      read_ahead(states, stop);
    });
  } catch (const std::system_error&) {
    return;  // no thread could be started: steps read the layers
  }
}

void ModuleImports::attach(reuse::RequestId id, std::vector<StateRun> runs) {
  Imports imports{.runs = std::move(runs)};
  std::vector<std::shared_ptr<const SharedStates>> unchecked;
  for (const StateRun& run : imports.runs)
    if (run.states->unchecked != nullptr && (unchecked.empty() || unchecked.back() != run.states))
      unchecked.push_back(run.states);
  if (!unchecked.empty()) imports.reader = std::make_unique<LayerReader>(std::move(unchecked));
  const bool is_new = imports_.emplace(id, std::move(imports)).second;
  REPRISE_CHECK(is_new, "request {} has its imports already", id);
  is_lasting_ = false;
}

void ModuleImports::detach(reuse::RequestId id) {
  const auto found = imports_.find(id);
  if (found == imports_.end()) return;
  for (const StateRun& run : found->second.runs)
    if (run.states->arriving != nullptr) run.states->arriving->drop_source();
  imports_.erase(found);
  is_lasting_ = false;
  pending_.clear();  // until the next plan is written, no file is held
}

void ModuleImports::append(reuse::StepBatch batch, kv::AttentionPlan& plan) {
  using RunKey = std::tuple<const SharedStates*, int32_t, int32_t, int32_t>;
  struct Added {
    int32_t segment = 0, item = 0;
  };
  use_ = {};
  is_lasting_ = true;
  pending_.clear();
  std::map<const SharedStates*, int32_t> caches;
  std::map<RunKey, Added> added;
  for (const reuse::StepSequence& sequence : batch) {
    const auto found = imports_.find(sequence.id);
    if (found == imports_.end()) continue;
    const int32_t first_row = sequence.first_row, end_row = first_row + sequence.rows;
    for (const StateRun& run : found->second.runs) {
      use_.imported_tokens += run.tokens;
      const RunKey key{run.states.get(), run.first, run.tokens, run.first_position};
      const auto [entry, is_new] = added.emplace(key, Added{});
      if (is_new) {
        const auto [cache, is_new_cache] = caches.emplace(run.states.get(), 0);
        if (is_new_cache) {
          cache->second = plan.add_cache(run.states->view);
          if (run.states->is_pending()) pending_.push_back(run.states);
        }
        entry->second.segment = add_run(run, cache->second, plan);
        ++use_.segments;
      } else if (kv::WorkItem& before = plan.items[static_cast<size_t>(entry->second.item)];
                 before.end_row == first_row) {
        before.end_row = end_row;
        continue;
      }
      entry->second.item = plan.add_item(
          {.segment = entry->second.segment, .first_row = first_row, .end_row = end_row});
      use_.read_tokens += run.tokens;
      ++use_.items;
    }
  }
}

void ModuleImports::prepare_layer(int64_t layer) const {
  const auto copy = [&](int64_t which) {
    for (const auto& states : pending_)
      if (kv::DeviceSegment* segment = states->arriving;
          segment != nullptr && which < segment->shape().layers)
        segment->begin_layers(which);
  };
  for (const auto& states : pending_)
    if (states->arriving == nullptr) states->unchecked->check_layer(layer);
  copy(layer);
  for (const auto& states : pending_)
    if (states->arriving != nullptr) states->arriving->await_copies();
  copy(layer + 1);
}

bool ModuleImports::is_pending() const {
  return std::any_of(pending_.begin(), pending_.end(),
                     [](const auto& states) { return states->is_pending(); });
}

bool ModuleImports::goes_on(reuse::StepBatch /*batch*/) const { return is_lasting_; }

}  // namespace reprise::prompt_cache
