// The prefix-aware KV cache: sequences as paths of a tree of chunks, equal prefixes held once.
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

// Which prefixes of a new sequence are looked for among those in memory.
enum class Matching : uint8_t {
  kNone,            // none: the tree is a table of each sequence's own blocks
  kChunks,          // whole chunks of any sequence
  kPinned,          // prefixes pinned before, of any number of tokens
  kPinnedAndChunks  // the longest of both, and whole chunks behind a pinned prefix
};

// Pinned prefixes are looked for.
[[nodiscard]] constexpr bool matches_pinned(Matching matching) {
  return matching == Matching::kPinned || matching == Matching::kPinnedAndChunks;
}
[[nodiscard]] constexpr bool matches_chunks(Matching matching) {
  return matching == Matching::kChunks || matching == Matching::kPinnedAndChunks;
}

struct PrefixTreeOptions {
  int32_t chunk_tokens = 64;  // the pool's block_tokens: a chunk is one block
  Matching matching = Matching::kChunks;
  // Chunks outlive their last user until their blocks are needed; the longest unused goes first.
  bool retain = false;
};

// A run of at most chunk_tokens tokens of all sequences through it, with their keys and values of
// all layers.   [ChunkAttention §3.1]
struct Chunk {
  int32_t block = -1;
  int32_t parent = -1;  // the chunk before it on every path through it; -1 at the head
  int32_t first_token = 0;
  int32_t computed = 0;                    // leading tokens whose keys and values are in the block
  int32_t users = 0;                       // sequences through it
  int32_t pins = 0;                        // pinned prefixes through it
  bool is_consecutive = true;              // each position is the one before plus 1
  std::vector<int32_t> tokens, positions;  // [filled]

  [[nodiscard]] int32_t filled() const { return static_cast<int32_t>(tokens.size()); }
  [[nodiscard]] int32_t end_token() const { return first_token + filled(); }

 private:
  friend class PrefixTree;
  bool is_listed = false;  // found by match()
  int32_t children = 0;    // chunks whose parent it is
  int32_t last = -1;       // entry of the last sequence through it, in the order of ranks
  std::list<int32_t>::iterator idle;
};

// A sequence: its path from the head, whose last chunk is its own.
struct TreeSequence {
  SequenceId id = 0;
  std::vector<int32_t> path;                     // chunks
  int32_t tokens = 0;                            // in the path
  int32_t most_tokens = 0;                       // that it may grow to
  int32_t pinned_chunks = 0, pinned_tokens = 0;  // head of the path that is a pinned prefix
  int64_t rank = 0;

  // Where on the path token `token` lies, given the tree's chunk_tokens.
  [[nodiscard]] int32_t chunk_of(int32_t token, int32_t chunk_tokens) const {
    return token < pinned_tokens ? token / chunk_tokens
                                 : pinned_chunks + (token - pinned_tokens) / chunk_tokens;
  }

 private:
  friend class PrefixTree;
  int32_t previous = -1, next = -1;  // entries, in the order of ranks
};

// What of a new sequence is in memory already.
struct PrefixMatch {
  std::vector<int32_t> chunks;
  int32_t tokens = 0;                            // in `chunks`
  int32_t computed = 0;                          // leading ones whose keys and values are there
  int32_t pinned_chunks = 0, pinned_tokens = 0;  // of a pinned prefix at its head
};

// One tree for all layers. A partly filled chunk is private to its sequence, so appending never
// touches what is shared; a chunk that differs in one token is not shared at all. Chunks are found
// by a hash and accepted by comparing every token with its position. Sequences that generate the
// same full chunk hold it apart; each of the equal chunks is found.
//
// Leaves are kept in an order, given by rank(), in which every chunk covers neighbouring sequences.
// With s sequences, a match costs O(tokens matched + chunk_tokens) for each of the equal chunks it
// follows, an insertion O(tokens not matched + path), an append O(1), a removal O(path); ranks are
// spaced so widely that the O(s) of respacing them falls due once in some 32 insertions at one
// place at the most.
//
// Blocks are taken when a chunk begins, so an append may fail. Not thread-safe: the scheduler's
// thread owns it.
class PrefixTree {
 public:
  // Throws Error unless chunk_tokens is at least 1.
  explicit PrefixTree(const PrefixTreeOptions& options);

  // `positions` is as long as `tokens`, or empty for 0, 1, 2, ...; equal tokens at other positions
  // do not match.
  [[nodiscard]] PrefixMatch match(std::span<const int32_t> tokens,
                                  std::span<const int32_t> positions) const;
  // The same for a sequence that will be pinned: whole chunks only, so that no pinned prefix has a
  // partly filled chunk but its last.
  [[nodiscard]] PrefixMatch match_to_pin(std::span<const int32_t> tokens,
                                         std::span<const int32_t> positions) const;
  // Adds a sequence whose head is `match`, taken from match() with no other call between, and which
  // may grow to `most_tokens` (>= tokens.size()). False, and nothing has changed, where the pool
  // has no blocks for `tokens` that leave `spare_blocks` free besides. `id` must be new.
  [[nodiscard]] bool insert(SequenceId id, const PrefixMatch& match,
                            std::span<const int32_t> tokens, std::span<const int32_t> positions,
                            int32_t most_tokens, int32_t spare_blocks, kv::BlockPool& pool);
  // False, and nothing has changed, where the token begins a chunk and no block is left for it.
  [[nodiscard]] bool append(SequenceId id, int32_t token, int32_t position, kv::BlockPool& pool);
  // The keys and values of the sequence's tokens [first_token, end_token) are in their blocks.
  void mark_computed(SequenceId id, int32_t first_token, int32_t end_token);
  void remove(SequenceId id, kv::BlockPool& pool);
  // Ends a sequence and keeps its path, under its id, as a prefix that kPinned and
  // kPinnedAndChunks find.
  void pin(SequenceId id, kv::BlockPool& pool);
  // Keeps a prefix no longer; what sequences still use of it goes with the last of them.
  void unpin(SequenceId id, kv::BlockPool& pool);
  [[nodiscard]] bool is_pinned(SequenceId id) const { return pinned_.contains(id); }
  // The chunks of a pinned prefix.
  [[nodiscard]] std::span<const int32_t> pinned_path(SequenceId id) const {
    return pinned_.at(id).path;
  }
  // A block of the pool for other uses than the tree's; unused chunks make room. -1: none.
  [[nodiscard]] int32_t take_block(kv::BlockPool& pool);

  [[nodiscard]] bool contains(SequenceId id) const { return entries_.contains(id); }
  [[nodiscard]] int32_t entry_of(SequenceId id) const;  // fixed from insertion to removal
  [[nodiscard]] const TreeSequence& at_entry(int32_t entry) const {
    return sequences_[static_cast<size_t>(entry)];
  }
  [[nodiscard]] const TreeSequence& sequence(SequenceId id) const { return at_entry(entry_of(id)); }
  [[nodiscard]] const Chunk& chunk(int32_t index) const {
    return chunks_[static_cast<size_t>(index)];
  }
  [[nodiscard]] size_t chunk_index_end() const { return chunks_.size(); }  // indices are below it
  // Whether a later match can reach the chunk, and all of it.
  [[nodiscard]] bool can_be_found(const Chunk& c) const;
  // Chunks of the path once the sequence has all its tokens.
  [[nodiscard]] int32_t most_chunks(const TreeSequence& sequence) const;
  [[nodiscard]] const PrefixTreeOptions& options() const { return options_; }
  [[nodiscard]] size_t size() const { return entries_.size(); }  // sequences
  // Changes when sequences come or go, not when they grow.
  [[nodiscard]] uint64_t version() const { return version_; }
  [[nodiscard]] int32_t unused_chunks() const { return static_cast<int32_t>(idle_.size()); }
  // Tokens that sequences need not hold of their own: sum over chunks of (users - 1) * filled.
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
  // Appends the full chunks behind `parent` that hold tokens [first, first + chunk_tokens).
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
  std::list<int32_t> idle_;  // unused chunks, longest unused first, none before a descendant of it
  std::vector<TreeSequence> sequences_;
  std::vector<int32_t> free_entries_;
  std::unordered_map<SequenceId, int32_t> entries_;
  int32_t last_entry_ = -1;  // of the highest rank
  std::map<SequenceId, Pinned> pinned_;
  uint64_t version_ = 0;
  int64_t shared_tokens_ = 0, peak_shared_tokens_ = 0;
};

}  // namespace reprise::reuse
