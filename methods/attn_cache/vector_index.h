// The nearest of many feature vectors; by FAISS where the build has it.
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
  kIvfFlat,  // the vectors of the nearest of some clusters      (the released code)
};

std::string_view name_of(IndexKind kind);  // "flat", "hnsw", "ivf_flat"
// Throws Error with the nearest name.
IndexKind parse_index_kind(std::string_view name);
std::vector<std::string> index_kind_names();
// Why this build has no index of the kind, with the remedy; "" where it has.
std::string index_absence(IndexKind kind);

struct IndexOptions {
  IndexKind kind = IndexKind::kHnsw;
  int32_t neighbours = 32;        // kHnsw: links of a vector in the graph
  int32_t build_candidates = 40;  // kHnsw: compared when one is put in
  int32_t candidates = 64;        // kHnsw: compared by a lookup
  int32_t lists = 128;            // kIvfFlat: clusters; fewer where there are fewer vectors
  int32_t probes = 1;             // kIvfFlat: clusters that a lookup reads
};

// What a vector stands for.
struct IndexEntry {
  int32_t group = 0;  // of the map store
  int32_t layer = 0;  // that the vector's hidden states entered

  bool operator==(const IndexEntry&) const = default;
};

struct Neighbour {
  int64_t entry = -1;  // -1: none, the index is empty
  float squared_distance = 0;
};

// Immutable once it is built. FAISS runs on the calling thread alone, so the same vectors give the
// same index, and lookups fork as ours do. Errors of FAISS arrive as Error with its message.
class VectorIndex {
 public:
  // vectors [entries, dims] f32, row-major, are copied. Throws Error for options out of range, for
  // no dims, and for vectors that are NaN or infinite.
  VectorIndex(const IndexOptions& options, int64_t dims, std::span<const float> vectors,
              std::vector<IndexEntry> entries);
  VectorIndex(VectorIndex&&) noexcept;
  VectorIndex& operator=(VectorIndex&&) noexcept;
  ~VectorIndex();

  [[nodiscard]] int64_t dims() const;
  [[nodiscard]] const std::vector<IndexEntry>& entries() const;
  [[nodiscard]] IndexKind kind() const;
  // [dims], as it was put.
  [[nodiscard]] std::vector<float> vector(int64_t entry) const;

  // The nearest entry of each of queries [n, dims] f32, by squared L2 distance; approximate but for
  // kFlat. Queries are shared out among the context's threads. Thread-safe.
  void search(std::span<const float> queries, std::span<Neighbour> nearest,
              const Context& context) const;

  // The whole index as bytes, and back. parse() throws Error, naming `source`, for bytes that are
  // none of its own; whoever keeps them keeps a checksum too.
  [[nodiscard]] std::string bytes() const;
  static VectorIndex parse(std::string_view bytes, const std::string& source);

 private:
  struct State;
  explicit VectorIndex(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace reprise::attn_cache
