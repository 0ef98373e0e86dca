// Replaces FAISS in builds without it: compares every vector.
#include <limits>
#include <vector>

#include "core/base/error.h"
#include "methods/attn_cache/vector_search.h"

namespace reprise::attn_cache {
namespace {

class FlatSearch final : public VectorSearch {
 public:
  FlatSearch(int64_t dims, std::vector<float> vectors)
      : dims_(dims), vectors_(std::move(vectors)) {}
  [[nodiscard]] int64_t dims() const override { return dims_; }
  void nearest(std::span<const float> queries, std::span<float> distances,
               std::span<int64_t> labels) const override {
    const int64_t entries = std::ssize(vectors_) / dims_;
    for (int64_t query = 0; query < std::ssize(queries) / dims_; ++query) {
      float best = std::numeric_limits<float>::infinity();
      int64_t label = -1;
      for (int64_t entry = 0; entry < entries; ++entry) {
        const float distance =
            squared_distance(queries.data() + query * dims_, vectors_.data() + entry * dims_);
        if (distance < best) {
          best = distance;
          label = entry;
        }
      }
      distances[static_cast<size_t>(query)] = best;
      labels[static_cast<size_t>(query)] = label;
    }
  }

 private:
  [[nodiscard]] float squared_distance(const float* a, const float* b) const {
    float sum = 0;
    for (int64_t i = 0; i < dims_; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
  }

  int64_t dims_;
  std::vector<float> vectors_;  // [entries, dims]
};

}  // namespace

std::string index_absence(IndexKind kind) {
  if (kind == IndexKind::kFlat) return "";
  return fmt::format(
      "This program was built without FAISS, which the vector index \"{}\" needs. Install it "
      "(libfaiss-dev), then configure and build again; or take the index \"flat\".",
      name_of(kind));
}

std::unique_ptr<VectorSearch> build_search(const IndexOptions& options, int64_t dims,
                                           int64_t /*count*/, std::span<const float> vectors) {
  if (const std::string absence = index_absence(options.kind); !absence.empty())
    raise("{}", absence);
  return std::make_unique<FlatSearch>(dims, std::vector<float>(vectors.begin(), vectors.end()));
}

}  // namespace reprise::attn_cache
