// VectorIndex: checks options and vectors, and calls the search of vector_search.h.
#include "methods/attn_cache/vector_index.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/base/enum_names.h"
#include "core/base/error.h"
#include "methods/attn_cache/vector_search.h"

namespace reprise::attn_cache {
namespace {

constexpr std::array kKinds = {IndexKind::kFlat, IndexKind::kHnsw, IndexKind::kIvfFlat};

void check_options(const IndexOptions& options) {
  for (const auto& [name, value] :
       {std::pair{"neighbours", options.neighbours}, std::pair{"candidates", options.candidates},
        std::pair{"build_candidates", options.build_candidates}, std::pair{"lists", options.lists},
        std::pair{"probes", options.probes}})
    if (value < 1 || value > (1 << 20))
      raise("a vector index with {} = {}: give 1 to {}", name, value, 1 << 20);
  // FAISS divides by log(neighbours) when it draws the levels of its graph.
  if (options.neighbours < 2) raise("a vector index with neighbours = 1: give 2 or more");
}

}  // namespace

struct VectorIndex::State {
  std::unique_ptr<VectorSearch> search;
  std::vector<IndexEntry> entries;
};

std::string_view name_of(IndexKind kind) {
  switch (kind) {
    case IndexKind::kHnsw:
      return "hnsw";
    case IndexKind::kIvfFlat:
      return "ivf_flat";
    case IndexKind::kFlat:
      break;
  }
  return "flat";
}

std::vector<std::string> index_kind_names() { return names_of_all(kKinds); }

IndexKind parse_index_kind(std::string_view name) {
  return parse_name("kind of vector index", name, kKinds);
}

VectorIndex::VectorIndex(const IndexOptions& options, int64_t dims, std::span<const float> vectors,
                         std::vector<IndexEntry> entries) {
  check_options(options);
  if (dims < 1 || dims > (1 << 16)) raise("vectors of {} dimensions: give 1 to {}", dims, 1 << 16);
  const int64_t count = std::ssize(entries);
  REPRISE_CHECK(std::ssize(vectors) == count * dims, "{} numbers for {} vectors of {}",
                vectors.size(), count, dims);
  for (const float value : vectors)
    if (!std::isfinite(value))
      raise("a feature vector holds {}: the model or the projector has overflowed", value);
  state_ = std::make_unique<State>();
  state_->entries = std::move(entries);
  state_->search = build_search(options, dims, count, vectors);
}

VectorIndex::VectorIndex(VectorIndex&&) noexcept = default;
VectorIndex& VectorIndex::operator=(VectorIndex&&) noexcept = default;
VectorIndex::~VectorIndex() = default;

int64_t VectorIndex::dims() const { return state_->search->dims(); }
const std::vector<IndexEntry>& VectorIndex::entries() const { return state_->entries; }

void VectorIndex::search(std::span<const float> queries, std::span<Neighbour> nearest,
                         const Context& context) const {
  REPRISE_CHECK(std::ssize(queries) == std::ssize(nearest) * dims(), "{} numbers, {} queries of {}",
                queries.size(), nearest.size(), dims());
  std::fill(nearest.begin(), nearest.end(), Neighbour{});
  if (state_->entries.empty()) return;
  // Each search allocates a table of visited vectors with one entry per stored vector, so one
  // search takes kTogether queries.
  constexpr int64_t kTogether = 16;
  const int64_t count = std::ssize(nearest), parts = (count + kTogether - 1) / kTogether;
  parallel_for(context, parts, [&](int64_t part, int) {
    const int64_t first = part * kTogether, n = std::min(kTogether, count - first);
    std::array<float, kTogether> distances{};
    std::array<int64_t, kTogether> labels{};
    state_->search->nearest(
        queries.subspan(static_cast<size_t>(first * dims()), static_cast<size_t>(n * dims())),
        distances, labels);
    for (int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<size_t>(i);
      if (labels[at] >= 0)
        nearest[static_cast<size_t>(first + i)] = {
            .entry = labels[at], .squared_distance = std::max(distances[at], 0.0f)};
    }
  });
}

}  // namespace reprise::attn_cache
