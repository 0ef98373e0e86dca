#include "methods/attn_cache/attn_cache.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/error.h"
#include "core/base/steady_now.h"

namespace reprise::attn_cache {
namespace {

// Adds the time between its construction and destruction to `sum_ns`.
class Stopwatch {
 public:
  Stopwatch(const std::function<int64_t()>& clock_ns, int64_t& sum_ns)
      : clock_ns_(clock_ns), sum_ns_(sum_ns), begin_ns_(clock_ns()) {}
  ~Stopwatch() { sum_ns_ += clock_ns_() - begin_ns_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  const std::function<int64_t()>& clock_ns_;
  int64_t& sum_ns_;
  int64_t begin_ns_;
};

void check_layers_in_index(const Database& database, const AttnCacheOptions& options,
                           int64_t layers) {
  if (database.index().entries() == 0) return;  // every lookup reports an empty database
  const std::vector<int64_t> there = database.index().layers();
  for (const int64_t layer : options.searched_layers(layers))
    if (!std::binary_search(there.begin(), there.end(), layer))
      raise(
          "layer_group {} looks prompts up in layer {}, of which {} has no vectors. Collect with "
          "this layer_group, or with indexed_layers \"all\".",
          options.layer_group, layer, database.maps().path().parent_path().string());
}

}  // namespace

AttnCachePolicy::AttnCachePolicy(std::shared_ptr<Database> database, AttnCacheOptions options,
                                 const ModelFacts& model, const Context& context,
                                 std::function<int64_t()> clock_ns)
    : database_(std::move(database)),
      options_(std::move(options)),
      layers_(model.layers),
      is_causal_(model.is_causal),
      can_mix_(model.can_mix),
      lengths_(database_->maps().lengths()),
      context_(context),
      clock_ns_(clock_ns ? std::move(clock_ns) : steady_now_ns),
      times_(static_cast<size_t>(model.layers)) {
  REPRISE_CHECK(database_->maps().identity().layers == layers_, "a database of another model");
  check_layers_in_index(*database_, options_, layers_);
}

model::LayerChoice AttnCachePolicy::choose(model::LayerInput& input) {
  const int64_t layer = input.layer();
  asked_ = layer;
  if (layer == 0 || !has_begun_) begin_step(input.step().plan);
  if (has_partial_) return {};
  if (begins_group(layer)) look_up(input);
  return reuses_ ? reuse(layer) : model::LayerChoice{};
}

void AttnCachePolicy::begin_step(const kv::AttentionPlan& plan) {
  prompts_ = prompts_of(plan);
  const int64_t whole = std::count_if(prompts_.begin(), prompts_.end(),
                                      [](const StepPrompt& prompt) { return prompt.is_whole; });
  counts_.prompts += whole;
  counts_.partial_prompts += std::ssize(prompts_) - whole;
  has_begun_ = true;
  has_partial_ = whole < std::ssize(prompts_);
  reuses_ = false;
  found_.assign(prompts_.size(), kNone);
  similarities_.assign(prompts_.size(), -std::numeric_limits<double>::infinity());
}

// If another policy decides the first layer of a step or group before this policy is asked, found_
// still has the stored prompts of the step or group before. They must not be used for the new one.
void AttnCachePolicy::overruled(int64_t layer) {
  const bool was_asked = asked_ == layer;
  asked_ = kNone;
  if (was_asked) return;
  if (layer == 0) has_begun_ = false;
  if (begins_group(layer)) reuses_ = false;
}

bool AttnCachePolicy::begins_group(int64_t layer) const {
  return options_.layer_group == 0 ? layer == 0 : layer % options_.layer_group == 0;
}

void AttnCachePolicy::look_up(model::LayerInput& input) {
  const int64_t layer = input.layer();
  embed(layer, input.hidden());
  search(layer);
  for (size_t i = 0; i < prompts_.size(); ++i)
    found_[i] = judge(layer, prompts_[i], database_->index().find(layer, prompts_[i].tokens),
                      nearest_[i], similarities_[i]);
  const int64_t hits = std::ssize(found_) - std::count(found_.begin(), found_.end(), kNone);
  reuses_ = can_mix_ ? hits > 0 : hits == std::ssize(found_);
  if (reuses_)
    begin_loading(layer);
  else
    counts_.unused_hits += hits;
}

void AttnCachePolicy::embed(int64_t layer, const TensorView& hidden) {
  const Stopwatch watch(clock_ns_, times_[static_cast<size_t>(layer)].embedding_ns);
  const auto dims = static_cast<size_t>(database_->projector().shape().features);
  features_.resize(prompts_.size() * dims);
  for (size_t i = 0; i < prompts_.size(); ++i)
    database_->projector().project(rows_of(hidden, prompts_[i]),
                                   std::span(features_).subspan(i * dims, dims));
}

// Looks up all prompts of a step together if they share an index, otherwise one by one.
void AttnCachePolicy::search(int64_t layer) {
  const Stopwatch watch(clock_ns_, times_[static_cast<size_t>(layer)].searching_ns);
  const auto dims = static_cast<size_t>(database_->projector().shape().features);
  nearest_.assign(prompts_.size(), {});
  const size_t together = database_->index().settings().by_length ? 1 : prompts_.size();
  for (size_t i = 0; i < prompts_.size(); i += together)
    if (const VectorIndex* index = database_->index().find(layer, prompts_[i].tokens))
      index->search(std::span(features_).subspan(i * dims, together * dims),
                    std::span(nearest_).subspan(i, together), context_);
}

// Starts to load the stored maps of all layers of the group; a prompt's layers are next to each
// other in the file.
void AttnCachePolicy::begin_loading(int64_t layer) {
  const int64_t end =
      options_.layer_group == 0 ? layers_ : std::min(layers_, layer + options_.layer_group);
  for (const int64_t group : found_)
    if (group != kNone) database_->maps().fetch_layers(group, layer, end);
}

int64_t AttnCachePolicy::judge(int64_t layer, const StepPrompt& prompt, const VectorIndex* index,
                               const Neighbour& nearest, double& similarity) {
  similarity = -std::numeric_limits<double>::infinity();
  ++counts_.lookups;
  if (index == nullptr && database_->index().entries() > 0) return miss_by_length(prompt);
  if (index == nullptr || nearest.entry < 0) {
    ++counts_.empty;
    return kNone;
  }
  const IndexEntry& entry = index->entries()[static_cast<size_t>(nearest.entry)];
  if (entry.layer != layer) {
    ++counts_.other_layer;
    return kNone;
  }
  const bool is_other_length =
      database_->maps().groups()[static_cast<size_t>(entry.group)].tokens != prompt.tokens;
  if (is_other_length && options_.lengths_kind() != Lengths::kFit) return miss_by_length(prompt);
  similarity = options_.similarity_of(nearest.squared_distance);
  if (!(similarity >= options_.threshold)) {
    ++counts_.below_threshold;
    return kNone;
  }
  ++counts_.hits;
  counts_.fitted_hits += is_other_length ? 1 : 0;
  return entry.group;
}

int64_t AttnCachePolicy::miss_by_length(const StepPrompt& prompt) {
  const bool is_stored = std::binary_search(lengths_.begin(), lengths_.end(), prompt.tokens);
  ++(is_stored ? counts_.other_length : counts_.no_length);
  return kNone;
}

model::LayerChoice AttnCachePolicy::reuse(int64_t layer) {
  const Stopwatch watch(clock_ns_, times_[static_cast<size_t>(layer)].loading_ns);
  maps_.clear();
  fitted_.resize(std::max(fitted_.size(), prompts_.size()));
  for (size_t i = 0; i < prompts_.size(); ++i) {
    if (found_[i] == kNone) continue;
    database_->maps().check_layers(found_[i], layer, layer + 1);
    maps_.push_back({.first_row = prompts_[i].first_row,
                     .map = map_for(prompts_[i], found_[i], layer, fitted_[i])});
    counts_.loaded_bytes += std::ssize(database_->maps().layer_bytes(found_[i], layer));
  }
  counts_.reused_layers += std::ssize(maps_);
  return {.action = model::LayerAction::kReuseMap, .maps = maps_};
}

kernels::MapView AttnCachePolicy::map_for(const StepPrompt& prompt, int64_t group, int64_t layer,
                                          std::vector<float>& fitted) const {
  const kernels::MapView stored = database_->maps().map(group, layer);
  const int64_t tokens = prompt.tokens;
  if (stored.rows == tokens) return stored;
  fitted.resize(static_cast<size_t>(stored.heads * tokens * tokens));
  fit_map(stored, options_.map_alignment(), tokens, is_causal_, fitted, context_);
  return kernels::contiguous_map(fitted.data(), DType::kF32, stored.heads, tokens, tokens);
}

void AttnCachePolicy::reset() {
  counts_ = {};
  times_.assign(times_.size(), {});
}

}  // namespace reprise::attn_cache
