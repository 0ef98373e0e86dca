#include "methods/attn_cache/collect.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "methods/attn_cache/step_prompts.h"

namespace reprise::attn_cache {
namespace {

// Throws Error, before anything is computed, if the prompts' maps do not fit into the budget.
void require_room(const std::filesystem::path& folder, const MapStoreWriter& writer,
                  std::span<const std::vector<int32_t>> prompts, double budget_mib) {
  const auto budget_bytes = static_cast<int64_t>(budget_mib * 1024 * 1024);
  if (budget_bytes == 0) return;
  int64_t bytes = 0;
  for (const std::vector<int32_t>& ids : prompts) bytes += writer.group_bytes(std::ssize(ids));
  if (bytes > budget_bytes)
    raise(
        "{} has no room for the maps of {} prompts: {} bytes of a budget of {}. Give it more "
        "(budget_mib), smaller weights (map_form), or fewer prompts.",
        folder.string(), prompts.size(), bytes, budget_bytes);
}

}  // namespace

Collector::Collector(const ProjectorShape& shape, std::vector<int64_t> sampled,
                     MapStoreWriter& writer)
    : sampled_(std::move(sampled)),
      writer_(writer),
      samples_{.shape = shape, .x = {}, .entries = {}} {}

void Collector::begin(std::span<const int32_t> ids) {
  tokens_ = std::ssize(ids);
  entries_.clear();
  writer_.begin_group(tokens_, hash_of_prompt(ids));
}

void Collector::end() {
  const int64_t group = writer_.end_group();
  for (IndexEntry& entry : entries_) entry.group = static_cast<int32_t>(group);
  samples_.entries.insert(samples_.entries.end(), entries_.begin(), entries_.end());
  tokens_ = 0;
}

model::LayerChoice Collector::choose(model::LayerInput& input) {
  const std::vector<StepPrompt> prompts = prompts_of(input.step().plan);
  if (prompts.size() != 1 || !prompts[0].is_whole || prompts[0].tokens != tokens_)
    raise(
        "maps are collected of one whole prompt a step, here of {} tokens: this step has {} rows "
        "of {} prompts. Run prompts one by one, in one chunk.",
        tokens_, input.step().plan.rows(), prompts.size());
  if (std::find(sampled_.begin(), sampled_.end(), input.layer()) != sampled_.end()) {
    const auto inputs = static_cast<size_t>(samples_.shape.inputs());
    const size_t first = (samples_.entries.size() + entries_.size()) * inputs;
    samples_.x.resize(first + inputs);
    pool_hidden(samples_.shape, input.hidden(), std::span(samples_.x).subspan(first));
    entries_.push_back({.group = 0, .layer = static_cast<int32_t>(input.layer())});
  }
  return {.show_map = true};
}

void Collector::observe_map(int64_t /*layer*/, const kernels::MapView& map) {
  writer_.add_layer(map);
}

// Writes a map of zeros for a layer that another policy skipped, so that the maps of later layers
// keep their layer numbers.
void Collector::overruled(int64_t /*layer*/) {
  const int64_t heads = writer_.identity().format.heads;
  const std::vector<float> nothing(static_cast<size_t>(heads * tokens_ * tokens_), 0.0f);
  writer_.add_layer(kernels::contiguous_map(nothing.data(), DType::kF32, heads, tokens_, tokens_));
}

SampleSet collect(const std::filesystem::path& folder, const ModelFacts& model,
                  const AttnCacheOptions& options, std::span<const std::vector<int32_t>> prompts,
                  const RunPrompt& run) {
  MapStoreWriter writer(folder / kMapsFile, {.model = model.fingerprint,
                                             .layers = model.layers,
                                             .format = options.map_format(model.heads)});
  require_room(folder, writer, prompts, options.budget_mib);
  Collector collector(options.projector_shape(model.hidden), options.layers_in_index(model.layers),
                      writer);
  for (const std::vector<int32_t>& ids : prompts) {
    collector.begin(ids);
    run(ids, collector);
    collector.end();
  }
  writer.commit();
  return collector.take_samples();
}

}  // namespace reprise::attn_cache
