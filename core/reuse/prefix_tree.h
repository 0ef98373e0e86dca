// A prefix-aware KV cache: a tree of chunks in which each sequence is a path and equal prefixes are
// stored once.
//
// One tree serves all layers. A partly filled chunk is private to its sequence, so appending never
// changes shared chunks; chunks that differ in one token are not shared. Chunks are found by a hash
// and accepted after comparing every token and position. Sequences that generate equal full chunks
// keep a chunk each; a match follows all of them.
//
// Sequences have an order, given by rank(), in which every chunk's users are neighbours. With s
// sequences, a match costs O(tokens matched + chunk_tokens) for each of the equal chunks it
// follows, an insertion O(tokens not matched + path), an append O(1), a removal O(path). Ranks are
// spaced so that respacing them, O(s), is needed at most once in about 32 insertions at one place.
//
// A chunk takes its block when it begins, so an append may fail. Not thread-safe: the scheduler's
// thread owns it.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/kv/block_pool.h"

namespace reprise::reuse {

using SequenceId = int64_t;

// The cached prefixes that match() looks for.
enum class Matching : uint8_t {
  kNone,            // none: each sequence has its own chunks
  kChunks,          // whole chunks of any sequence
  kPinned,          // pinned prefixes, of any number of tokens
  kPinnedAndChunks  // the longer of both; whole chunks may follow a pinned prefix
};

// True if pinned prefixes are looked for.
[[nodiscard]] constexpr bool matches_pinned(Matching matching) {
  return matching == Matching::kPinned || matching == Matching::kPinnedAndChunks;
}
[[nodiscard]] constexpr bool matches_chunks(Matching matching) {
  return matching == Matching::kChunks || matching == Matching::kPinnedAndChunks;
}

struct PrefixTreeOptions {
  int32_t chunk_tokens = 64;  // the pool's block_tokens: a chunk is one block
  Matching matching = Matching::kChunks;
  // Chunks stay after their last user until their blocks are needed; the longest unused is freed
  // first.
  bool retain = false;
};

// A run of at most chunk_tokens tokens with their keys and values of all layers, shared by all
// sequences whose paths contain it.   [ChunkAttention §3.1]
struct Chunk {
  int32_t block = -1;
  int32_t parent = -1;  // previous chunk of every path that contains this one; -1 for the first
  int32_t first_token = 0;
  int32_t computed = 0;                    // leading tokens whose KV states are in the block
  int32_t users = 0;                       // sequences whose paths contain it
  int32_t pins = 0;                        // pinned prefixes that contain it
  bool is_consecutive = true;              // each position is the previous one plus 1
  std::vector<int32_t> tokens, positions;  // [filled]

  [[nodiscard]] int32_t filled() const { return static_cast<int32_t>(tokens.size()); }
  [[nodiscard]] int32_t end_token() const { return first_token + filled(); }

 private:
  friend class PrefixTree;
  bool is_listed = false;  // in listed_, so found by match()
  int32_t children = 0;    // chunks whose parent it is
  int32_t last = -1;       // entry of the highest-ranked sequence that uses it
  std::list<int32_t>::iterator idle;
};

// A sequence: its path from the first chunk; at least the last chunk is its own.
struct TreeSequence {
  SequenceId id = 0;
  std::vector<int32_t> path;                     // chunk indices
  int32_t tokens = 0;                            // number of tokens in the path
  int32_t most_tokens = 0;                       // the most tokens it may grow to
  int32_t pinned_chunks = 0, pinned_tokens = 0;  // part of the path that is a pinned prefix
  int64_t rank = 0;

  // Index in `path` of the chunk that holds `token`, given the tree's chunk_tokens.
  [[nodiscard]] int32_t chunk_of(int32_t token, int32_t chunk_tokens) const {
    return token < pinned_tokens ? token / chunk_tokens
                                 : pinned_chunks + (token - pinned_tokens) / chunk_tokens;
  }

 private:
  friend class PrefixTree;
  int32_t previous = -1, next = -1;  // neighbours in the order of ranks, as entries
};

// The cached part of a new sequence.
struct PrefixMatch {
  std::vector<int32_t> chunks;
  int32_t tokens = 0;                            // number of tokens in `chunks`
  int32_t computed = 0;                          // leading tokens with KV states in the cache
  int32_t pinned_chunks = 0, pinned_tokens = 0;  // part that is a pinned prefix
};

// The tree described at the top of this file. Not thread-safe: the scheduler's thread owns it.
class PrefixTree {
 public:
  // Throws Error unless chunk_tokens is at least 1.
  explicit PrefixTree(const PrefixTreeOptions& options);

  // The longest cached prefix of a sequence. `positions` is as long as `tokens`, or empty for 0, 1,
  // 2, ...; tokens match only at equal positions.
  [[nodiscard]] PrefixMatch match(std::span<const int32_t> tokens,
                                  std::span<const int32_t> positions) const;
  // match() for a sequence that will be pinned. Matches whole chunks only, so that just the last
  // chunk of a pinned prefix may be partly filled.
  [[nodiscard]] PrefixMatch match_to_pin(std::span<const int32_t> tokens,
                                         std::span<const int32_t> positions) const;
  // Adds a sequence that begins with `match`, the result of match() with no other call between, and
  // may grow to `most_tokens` >= tokens.size(). Returns false and changes nothing if the pool
  // cannot hold `tokens` and leave `spare_blocks` blocks free. `id` must be new (CHECK).
  [[nodiscard]] bool insert(SequenceId id, const PrefixMatch& match,
                            std::span<const int32_t> tokens, std::span<const int32_t> positions,
                            int32_t most_tokens, int32_t spare_blocks, kv::BlockPool& pool);
  // Returns false and changes nothing if the token begins a chunk and no block is free.
  [[nodiscard]] bool append(SequenceId id, int32_t token, int32_t position, kv::BlockPool& pool);
  // Records that the KV states of the sequence's tokens [first_token, end_token) are in their
  // blocks.
  void mark_computed(SequenceId id, int32_t first_token, int32_t end_token);
  void remove(SequenceId id, kv::BlockPool& pool);
  // Removes a sequence but keeps its path, under its id, as a pinned prefix.
  void pin(SequenceId id, kv::BlockPool& pool);
  // Drops a pinned prefix. Chunks that sequences still use stay until the last of them leaves.
  void unpin(SequenceId id, kv::BlockPool& pool);
  [[nodiscard]] bool is_pinned(SequenceId id) const { return pinned_.contains(id); }
  // The chunks of a pinned prefix.
  [[nodiscard]] std::span<const int32_t> pinned_path(SequenceId id) const {
    return pinned_.at(id).path;
  }
  // Takes a block of the pool for another use, freeing an unused chunk if necessary; -1 if none is
  // left.
  [[nodiscard]] int32_t take_block(kv::BlockPool& pool);

  [[nodiscard]] bool contains(SequenceId id) const { return entries_.contains(id); }
  [[nodiscard]] int32_t entry_of(SequenceId id) const;  // fixed while the sequence is in the tree
  [[nodiscard]] const TreeSequence& at_entry(int32_t entry) const {
    return sequences_[static_cast<size_t>(entry)];
  }
  [[nodiscard]] const TreeSequence& sequence(SequenceId id) const { return at_entry(entry_of(id)); }
  [[nodiscard]] const Chunk& chunk(int32_t index) const {
    return chunks_[static_cast<size_t>(index)];
  }
  // All chunk indices are below this one.
  [[nodiscard]] size_t chunk_index_end() const { return chunks_.size(); }
  // True if a later match can find the chunk with all its tokens computed, or if it is pinned.
  [[nodiscard]] bool can_be_found(const Chunk& c) const;
  // Number of chunks of the path once the sequence has most_tokens tokens.
  [[nodiscard]] int32_t most_chunks(const TreeSequence& sequence) const;
  [[nodiscard]] const PrefixTreeOptions& options() const { return options_; }
  [[nodiscard]] size_t size() const { return entries_.size(); }  // number of sequences
  // Changes whenever a sequence or pinned prefix comes or goes, not when a sequence grows.
  [[nodiscard]] uint64_t version() const { return version_; }
  [[nodiscard]] int32_t unused_chunks() const { return static_cast<int32_t>(idle_.size()); }
  // Tokens saved by sharing: sum over chunks of (users - 1) * filled.
  [[nodiscard]] int64_t shared_tokens() const { return shared_tokens_; }
  [[nodiscard]] int64_t peak_shared_tokens() const { return peak_shared_tokens_; }

 private:
  struct Pinned {
    std::vector<int32_t> path;
    int32_t tokens = 0;
  };

  [[nodiscard]] Chunk& chunk_at(int32_t index) { return chunks_[static_cast<size_t>(index)]; }
  [[nodiscard]] int32_t chunks_for(int32_t tokens) const;
  void extend_by_chunks(PrefixMatch& match, std::span<const int32_t> tokens,
                        std::span<const int32_t> positions) const;
  [[nodiscard]] int32_t computed_of(std::span<const int32_t> chunks) const;
  [[nodiscard]] PrefixMatch match_pinned(std::span<const int32_t> tokens,
                                         std::span<const int32_t> positions) const;
  // Appends to `found` the full chunks after `parent` that hold tokens [first, first +
  // chunk_tokens).
  void find_children(int32_t parent, std::span<const int32_t> tokens,
                     std::span<const int32_t> positions, int32_t first,
                     std::vector<int32_t>& found) const;
  void add_token(Chunk& chunk, int32_t token, int32_t position) const;
  void list(int32_t index);
  void unlist(int32_t index);
  int32_t new_chunk(int32_t parent, int32_t first_token, kv::BlockPool& pool);
  void free_chunk(int32_t index, kv::BlockPool& pool);
  void free_with_descendants(int32_t index, kv::BlockPool& pool);
  [[nodiscard]] bool grow(int32_t entry, int32_t token, int32_t position, kv::BlockPool& pool);
  int32_t new_entry(SequenceId id);
  void place_after(int32_t entry, int32_t predecessor);
  void unplace(int32_t entry);
  void respace();
  void leave(int32_t entry, kv::BlockPool& pool);

  PrefixTreeOptions options_;
  std::vector<Chunk> chunks_;
  std::vector<int32_t> free_chunks_;
  std::unordered_multimap<uint64_t, int32_t> listed_;  // by hash of parent, tokens and positions
  std::list<int32_t> idle_;  // unused; longest unused first, but descendants before ancestors
  std::vector<TreeSequence> sequences_;
  std::vector<int32_t> free_entries_;
  std::unordered_map<SequenceId, int32_t> entries_;
  int32_t last_entry_ = -1;  // entry with the highest rank
  std::map<SequenceId, Pinned> pinned_;
  uint64_t version_ = 0;
  int64_t shared_tokens_ = 0, peak_shared_tokens_ = 0;
};

}  // namespace reprise::reuse
