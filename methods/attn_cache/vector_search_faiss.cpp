// Searches with FAISS; the only file that includes its headers.
#include <faiss/IndexFlat.h>
#include <faiss/IndexHNSW.h>
#include <faiss/IndexIVFFlat.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "core/base/error.h"
#include "methods/attn_cache/one_omp_thread.h"
#include "methods/attn_cache/vector_search.h"

namespace reprise::attn_cache {
namespace {

// Calls FAISS on this thread alone and throws its exceptions as Error.
template <typename Call>
decltype(auto) call_faiss(const char* what, Call&& call) {
  const OneOmpThread no_team;
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    raise("{} a vector index by FAISS failed: {}", what, error.what());
  }
}

std::unique_ptr<faiss::Index> make_index(const IndexOptions& options, int64_t dims, int64_t count) {
  const auto d = static_cast<int>(dims);
  if (options.kind == IndexKind::kHnsw) {
    auto index = std::make_unique<faiss::IndexHNSWFlat>(d, options.neighbours);
    index->hnsw.efConstruction = options.build_candidates;
    index->hnsw.efSearch = options.candidates;
    return index;
  }
  if (options.kind == IndexKind::kFlat || count == 0)
    return std::make_unique<faiss::IndexFlatL2>(d);
  const auto lists = static_cast<size_t>(std::min<int64_t>(options.lists, count));
  auto quantizer = std::make_unique<faiss::IndexFlatL2>(d);
  auto index = std::make_unique<faiss::IndexIVFFlat>(quantizer.get(), dims, lists);
  quantizer.release();
  index->own_fields = true;
  index->nprobe = std::min(static_cast<size_t>(options.probes), lists);
  index->cp.min_points_per_centroid = 1;  // otherwise FAISS warns on stderr below 39
  return index;
}

class FaissSearch final : public VectorSearch {
 public:
  explicit FaissSearch(std::unique_ptr<faiss::Index> index) : index_(std::move(index)) {}
  [[nodiscard]] int64_t dims() const override { return index_->d; }
  void nearest(std::span<const float> queries, std::span<float> distances,
               std::span<int64_t> labels) const override {
    call_faiss("searching", [&] {
      index_->search(std::ssize(queries) / dims(), queries.data(), 1, distances.data(),
                     labels.data());
    });
  }

 private:
  std::unique_ptr<faiss::Index> index_;
};

}  // namespace

std::string index_absence(IndexKind /*kind*/) { return ""; }

std::unique_ptr<VectorSearch> build_search(const IndexOptions& options, int64_t dims, int64_t count,
                                           std::span<const float> vectors) {
  return call_faiss("building", [&] {
    std::unique_ptr<faiss::Index> index = make_index(options, dims, count);
    if (count > 0) {
      index->train(count, vectors.data());
      index->add(count, vectors.data());
    }
    return std::make_unique<FaissSearch>(std::move(index));
  });
}

}  // namespace reprise::attn_cache
