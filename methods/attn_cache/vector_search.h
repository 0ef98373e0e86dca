// The search of a vector index: by FAISS if the build has it, otherwise by comparing all vectors.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "methods/attn_cache/vector_index.h"

namespace reprise::attn_cache {

// Immutable. Calls are thread-safe and run on the calling thread alone.
class VectorSearch {
 public:
  virtual ~VectorSearch() = default;
  [[nodiscard]] virtual int64_t dims() const = 0;
  // Finds the vector nearest to each of `queries` [n, dims]. Writes its squared L2 distance to
  // `distances` [n] and its number to `labels` [n]; the label is -1 if none was found.
  virtual void nearest(std::span<const float> queries, std::span<float> distances,
                       std::span<int64_t> labels) const = 0;
};

// Builds a search over vectors [count, dims], which must be finite; options must be in range.
// Throws Error if this program was built without the kind of index; see index_absence().
std::unique_ptr<VectorSearch> build_search(const IndexOptions& options, int64_t dims, int64_t count,
                                           std::span<const float> vectors);

}  // namespace reprise::attn_cache
