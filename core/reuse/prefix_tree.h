// A prefix-aware KV cache: a tree of chunks in which each sequence is a path and equal prefixes are
// stored once.
//
// One tree serves all layers. A partly filled chunk is private to its sequence, so appending never
// changes shared chunks; chunks that differ in one token are not shared. A chunk is found by a hash
// and accepted after its tokens and positions are compared. If two sequences generate equal full
// chunks, each keeps its own; a match follows all equal chunks.
//
// Ranks (TreeSequence::rank) order the sequences so that the users of every chunk are neighbours. A
// match costs O(tokens matched + chunk_tokens) for each of the equal chunks it follows, an
// insertion O(tokens not matched + path), an append O(1), a removal O(path). Ranks have gaps. When
// a gap is full, at most once in about 32 insertions at one place, all s sequences get new ranks in
// O(s).
//
// A chunk takes its block with its first token, so an append may fail. Not thread-safe: the
// scheduler's thread owns it.
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

// Which cached prefixes match() looks for.
enum class Matching : uint8_t {
  kNone,            // none: each sequence has its own chunks
  kChunks,          // whole chunks of any sequence
  kPinned,          // pinned prefixes, of any number of tokens
  kPinnedAndChunks  // the longer of both; whole chunks may follow a pinned prefix
};

// True if `matching` includes pinned prefixes.
[[nodiscard]] constexpr bool matches_pinned(Matching matching) {
  return matching == Matching::kPinned || matching == Matching::kPinnedAndChunks;
}
[[nodiscard]] constexpr bool matches_chunks(Matching matching) {
  return matching == Matching::kChunks || matching == Matching::kPinnedAndChunks;
}

struct PrefixTreeOptions {
  int32_t chunk_tokens = 64;  // must equal the pool's block_tokens, since a chunk is one block
  Matching matching = Matching::kChunks;
  // If true, a chunk without users stays until its block is needed. The chunk that has been unused
  // for longest is freed first.
  bool retain = false;
};

// A run of at most chunk_tokens tokens with their keys and values of all layers. All sequences
// whose paths contain the chunk share it.   [ChunkAttention §3.1]
struct Chunk {
  int32_t block = -1;
  int32_t parent = -1;  // previous chunk of every path that contains this one; -1 for the first
  int32_t first_token = 0;
  int32_t computed = 0;                    // leading tokens whose KV states are in the block
  int32_t users = 0;                       // number of sequences whose paths contain the chunk
  int32_t pins = 0;                        // number of pinned prefixes that contain the chunk
  bool is_consecutive = true;              // each position is the previous one plus 1
  std::vector<int32_t> tokens, positions;  // [filled]

  [[nodiscard]] int32_t filled() const { return static_cast<int32_t>(tokens.size()); }
  [[nodiscard]] int32_t end_token() const { return first_token + filled(); }

 private:
  friend class PrefixTree;
  bool is_listed = false;  // true if in listed_, where match() finds the chunk
  int32_t children = 0;    // number of chunks whose parent is this one
  int32_t last = -1;       // entry of the highest-ranked sequence that uses the chunk
  std::list<int32_t>::iterator idle;
};

// A sequence: its path of chunks, beginning at the first token. A partly filled last chunk belongs
// to it alone, unless the chunk ends a pinned prefix.
struct TreeSequence {
  SequenceId id = 0;
  std::vector<int32_t> path;  // chunk indices
  int32_t tokens = 0;         // number of tokens in the path
  int32_t most_tokens = 0;    // upper bound on the tokens of the sequence
  // The leading part of the path that is a pinned prefix.
  int32_t pinned_chunks = 0, pinned_tokens = 0;
  int64_t rank = 0;

  // Returns the index in `path` of the chunk that holds `token`, given the tree's chunk_tokens.
  [[nodiscard]] int32_t chunk_of(int32_t token, int32_t chunk_tokens) const {
    return token < pinned_tokens ? token / chunk_tokens
                                 : pinned_chunks + (token - pinned_tokens) / chunk_tokens;
  }

 private:
  friend class PrefixTree;
  int32_t previous = -1, next = -1;  // neighbours in the order of ranks, as entries
};

// The leading part of a new sequence that the tree holds already.
struct PrefixMatch {
  std::vector<int32_t> chunks;
  int32_t tokens = 0;    // number of tokens in `chunks`
  int32_t computed = 0;  // leading tokens with KV states in the cache
  // Leading part of the match that is a pinned prefix.
  int32_t pinned_chunks = 0, pinned_tokens = 0;
};

class PrefixTree {
 public:
  // Throws Error unless chunk_tokens is at least 1.
  explicit PrefixTree(const PrefixTreeOptions& options);

  // Returns the longest cached prefix of a sequence. `positions` is as long as `tokens`, or empty
  // for 0, 1, 2, ... A token matches only at the same position.
  [[nodiscard]] PrefixMatch match(std::span<const int32_t> tokens,
                                  std::span<const int32_t> positions) const;
  // match() for a sequence that will be pinned. It does not match pinned prefixes, whose last chunk
  // may be partly filled, but only whole chunks. So every chunk of the new pinned prefix except the
  // last is full.
  [[nodiscard]] PrefixMatch match_to_pin(std::span<const int32_t> tokens,
                                         std::span<const int32_t> positions) const;
  // Adds a sequence that begins with `match` and may grow to `most_tokens` >= tokens.size().
  // `match` is the result of match() or match_to_pin(), with no other call since. Returns false and
  // changes nothing if the pool cannot hold `tokens` and leave `spare_blocks` blocks free. `id`
  // must be new (CHECK).
  [[nodiscard]] bool insert(SequenceId id, const PrefixMatch& match,
                            std::span<const int32_t> tokens, std::span<const int32_t> positions,
                            int32_t most_tokens, int32_t spare_blocks, kv::BlockPool& pool);
  // Appends a token. If it needs a new chunk and no block is free, returns false and changes
  // nothing.
  [[nodiscard]] bool append(SequenceId id, int32_t token, int32_t position, kv::BlockPool& pool);
  // Records that the KV states of the sequence's tokens [first_token, end_token) are in their
  // blocks.
  void mark_computed(SequenceId id, int32_t first_token, int32_t end_token);
  void remove(SequenceId id, kv::BlockPool& pool);
  // Removes a sequence but keeps its path as a pinned prefix with the same id.
  void pin(SequenceId id, kv::BlockPool& pool);
  // Drops a pinned prefix. Chunks that sequences still use stay until the last of them leaves.
  void unpin(SequenceId id, kv::BlockPool& pool);
  [[nodiscard]] bool is_pinned(SequenceId id) const { return pinned_.contains(id); }
  // The chunks of a pinned prefix.
  [[nodiscard]] std::span<const int32_t> pinned_path(SequenceId id) const {
    return pinned_.at(id).path;
  }
  // Takes a block of the pool for another use than a chunk. Frees an unused chunk if necessary.
  // Returns -1 if no block is left.
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
  // True if a later match can find the chunk with all its tokens computed, or if the chunk is
  // pinned.
  [[nodiscard]] bool can_be_found(const Chunk& c) const;
  // Number of chunks in the sequence's path when it has most_tokens tokens.
  [[nodiscard]] int32_t most_chunks(const TreeSequence& sequence) const;
  [[nodiscard]] const PrefixTreeOptions& options() const { return options_; }
  [[nodiscard]] size_t size() const { return entries_.size(); }  // number of sequences
  // A number that changes whenever a sequence or pinned prefix comes or goes, but not when a
  // sequence grows.
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
  // Appends to `found` the full chunks after `parent` whose tokens equal tokens [first, first +
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
  // Chunks without users or pins; longest unused first, but descendants before ancestors.
  std::list<int32_t> idle_;
  std::vector<TreeSequence> sequences_;
  std::vector<int32_t> free_entries_;
  std::unordered_map<SequenceId, int32_t> entries_;
  int32_t last_entry_ = -1;  // entry with the highest rank
  std::map<SequenceId, Pinned> pinned_;
  uint64_t version_ = 0;
  int64_t shared_tokens_ = 0, peak_shared_tokens_ = 0;
};

}  // namespace reprise::reuse
