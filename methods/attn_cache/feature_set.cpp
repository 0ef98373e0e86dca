#include "methods/attn_cache/feature_set.h"

#include <set>
#include <utility>

#include "core/base/error.h"

namespace reprise::attn_cache {

FeatureIndex::FeatureIndex(const Settings& settings, const IndexOptions& options,
                           const FeatureSet& features, std::span<const int64_t> tokens)
    : settings_(settings) {
  std::map<IndexKey, FeatureSet> parts;
  for (size_t i = 0; i < features.entries.size(); ++i) {
    const IndexEntry& entry = features.entries[i];
    const auto group = static_cast<size_t>(entry.group);
    REPRISE_CHECK(group < tokens.size(), "group {} of {}", group, tokens.size());
    FeatureSet& part = parts[{.layer = settings_.by_layer ? entry.layer : -1,
                              .tokens = settings_.by_length ? tokens[group] : -1}];
    const auto first = features.vectors.begin() + static_cast<int64_t>(i) * features.dims;
    part.vectors.insert(part.vectors.end(), first, first + features.dims);
    part.entries.push_back(entry);
  }
  for (auto& [key, part] : parts)
    indices_.emplace(key,
                     VectorIndex(options, features.dims, part.vectors, std::move(part.entries)));
}

const VectorIndex* FeatureIndex::find(int64_t layer, int64_t tokens) const {
  const auto found = indices_.find(
      {.layer = settings_.by_layer ? layer : -1, .tokens = settings_.by_length ? tokens : -1});
  return found == indices_.end() ? nullptr : &found->second;
}

int64_t FeatureIndex::entries() const {
  int64_t count = 0;
  for (const auto& [key, index] : indices_) count += std::ssize(index.entries());
  return count;
}

std::vector<int64_t> FeatureIndex::layers() const {
  std::set<int64_t> layers;
  for (const auto& [key, index] : indices_)
    for (const IndexEntry& entry : index.entries()) layers.insert(entry.layer);
  return {layers.begin(), layers.end()};
}

}  // namespace reprise::attn_cache
