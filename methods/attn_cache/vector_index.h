// Finds the nearest of many feature vectors, by FAISS if the build has it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/context.h"

namespace reprise::attn_cache {

enum class IndexKind : uint8_t {
  kFlat,     // every vector is compared
  kHnsw,     // a graph of neighbours                            [AttnCache §5.3]
  kIvfFlat,  // the vectors of the nearest clusters              (the released code)
};

std::string_view name_of(IndexKind kind);  // "flat", "hnsw", "ivf_flat"
// Throws Error with the nearest name.
IndexKind parse_index_kind(std::string_view name);
std::vector<std::string> index_kind_names();
// The reason why this build has no index of the kind, with the remedy; "" if it has.
std::string index_absence(IndexKind kind);

struct IndexOptions {
  IndexKind kind = IndexKind::kHnsw;
  int32_t neighbours = 32;        // kHnsw: links of a vector in the graph
  int32_t build_candidates = 40;  // kHnsw: candidates compared when a vector is added
  int32_t candidates = 64;        // kHnsw: candidates compared in a lookup
  int32_t lists = 128;            // kIvfFlat: clusters, at most the number of vectors
  int32_t probes = 1;             // kIvfFlat: clusters that a lookup reads
};

// The prompt and layer that a vector belongs to.
struct IndexEntry {
  int32_t group = 0;  // group of the map store
  int32_t layer = 0;  // layer that its hidden states enter

  bool operator==(const IndexEntry&) const = default;
};

struct Neighbour {
  int64_t entry = -1;  // -1: none was found
  float squared_distance = 0;
};

// Immutable. FAISS builds the index on one thread, so that the same vectors give the same index.
// search() runs the lookups in parallel by parallel_for(). An exception of FAISS becomes an Error
// with the same message.
class VectorIndex {
 public:
  // Copies `vectors` [entries, dims] f32, row-major. Throws Error for options or `dims` out of
  // range, and for a value that is NaN or infinite.
  VectorIndex(const IndexOptions& options, int64_t dims, std::span<const float> vectors,
              std::vector<IndexEntry> entries);
  VectorIndex(VectorIndex&&) noexcept;
  VectorIndex& operator=(VectorIndex&&) noexcept;
  ~VectorIndex();

  [[nodiscard]] int64_t dims() const;
  [[nodiscard]] const std::vector<IndexEntry>& entries() const;

  // Writes to `nearest` [n] the entry with the least squared L2 distance from each of `queries` [n,
  // dims] f32: exactly for kFlat, otherwise approximately. The context's threads share the queries.
  // Thread-safe.
  void search(std::span<const float> queries, std::span<Neighbour> nearest,
              const Context& context) const;

 private:
  struct State;

  std::unique_ptr<State> state_;
};

}  // namespace reprise::attn_cache
