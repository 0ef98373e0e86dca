#include "core/reuse/prefix_tree.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "core/reuse/sequence_cache.h"

namespace reprise::reuse {
namespace {

constexpr int64_t kRankSpacing = int64_t{1} << 32;

int32_t position_of(std::span<const int32_t> positions, int32_t token) {
  return positions.empty() ? token : positions[static_cast<size_t>(token)];
}

uint64_t mixed(uint64_t hash, int32_t value) {
  hash = (hash ^ static_cast<uint32_t>(value)) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

}  // namespace

PrefixTree::PrefixTree(const PrefixTreeOptions& options) : options_(options) {
  if (options.chunk_tokens < 1)
    raise("a chunk of {} tokens was asked for, it must hold at least 1", options.chunk_tokens);
}

int32_t PrefixTree::chunks_for(int32_t tokens) const {
  return (tokens + options_.chunk_tokens - 1) / options_.chunk_tokens;
}

int32_t PrefixTree::most_chunks(const TreeSequence& sequence) const {
  return sequence.pinned_chunks + chunks_for(sequence.most_tokens - sequence.pinned_tokens);
}

int32_t PrefixTree::entry_of(SequenceId id) const {
  const auto found = entries_.find(id);
  REPRISE_CHECK(found != entries_.end(), "sequence {} is not in the tree", id);
  return found->second;
}

// ---- Finding ----

PrefixMatch PrefixTree::match(std::span<const int32_t> tokens,
                              std::span<const int32_t> positions) const {
  PrefixMatch match = match_to_pin(tokens, positions);
  PrefixMatch behind = match_pinned(tokens, positions);
  if (behind.tokens == 0) return match;
  if (matches_chunks(options_.matching)) extend_by_chunks(behind, tokens, positions);
  if (behind.tokens < match.tokens) return match;
  behind.computed = computed_of(behind.chunks);
  return behind;
}

PrefixMatch PrefixTree::match_to_pin(std::span<const int32_t> tokens,
                                     std::span<const int32_t> positions) const {
  PrefixMatch match;
  if (matches_chunks(options_.matching)) extend_by_chunks(match, tokens, positions);
  match.computed = computed_of(match.chunks);
  return match;
}

int32_t PrefixTree::computed_of(std::span<const int32_t> chunks) const {
  int32_t computed = 0;
  for (int32_t index : chunks) {
    computed += chunk(index).computed;
    if (chunk(index).computed < chunk(index).filled()) break;
  }
  return computed;
}

// Equal chunks of several sequences are stored separately, and the next chunk may follow any of
// them. So all of them are followed. Of the longest matches, the one with the most computed tokens
// is taken.
void PrefixTree::extend_by_chunks(PrefixMatch& match, std::span<const int32_t> tokens,
                                  std::span<const int32_t> positions) const {
  const int32_t start = match.chunks.empty() ? -1 : match.chunks.back();
  std::vector<int32_t> reached = {start}, next;
  int32_t length = match.tokens;
  while (length + options_.chunk_tokens <= static_cast<int32_t>(tokens.size())) {
    next.clear();
    for (int32_t parent : reached) find_children(parent, tokens, positions, length, next);
    if (next.empty()) break;
    reached.swap(next);
    length += options_.chunk_tokens;
  }
  if (length == match.tokens) return;
  PrefixMatch best;
  for (int32_t end : reached) {
    PrefixMatch longer = match;
    for (int32_t index = end; index != start; index = chunk(index).parent)
      longer.chunks.push_back(index);
    std::reverse(longer.chunks.begin() + std::ssize(match.chunks), longer.chunks.end());
    longer.tokens = length;
    if (reached.size() > 1) longer.computed = computed_of(longer.chunks);
    if (best.chunks.empty() || longer.computed > best.computed) best = std::move(longer);
  }
  match = std::move(best);
}

PrefixMatch PrefixTree::match_pinned(std::span<const int32_t> tokens,
                                     std::span<const int32_t> positions) const {
  const Pinned* longest = nullptr;
  for (const auto& [id, pinned] : pinned_) {
    if (pinned.tokens > static_cast<int32_t>(tokens.size())) continue;
    if (longest != nullptr && longest->tokens >= pinned.tokens) continue;
    const bool is_equal = std::all_of(pinned.path.begin(), pinned.path.end(), [&](int32_t index) {
      const Chunk& c = chunk(index);
      for (int32_t i = 0; i < c.filled(); ++i)
        if (c.tokens[static_cast<size_t>(i)] != tokens[static_cast<size_t>(c.first_token + i)] ||
            c.positions[static_cast<size_t>(i)] != position_of(positions, c.first_token + i))
          return false;
      return true;
    });
    if (is_equal) longest = &pinned;
  }
  if (longest == nullptr) return {};
  return {.chunks = longest->path,
          .tokens = longest->tokens,
          .pinned_chunks = static_cast<int32_t>(longest->path.size()),
          .pinned_tokens = longest->tokens};
}

void PrefixTree::find_children(int32_t parent, std::span<const int32_t> tokens,
                               std::span<const int32_t> positions, int32_t first,
                               std::vector<int32_t>& found) const {
  uint64_t hash = mixed(0, parent);
  for (int32_t token = first; token < first + options_.chunk_tokens; ++token)
    hash = mixed(mixed(hash, tokens[static_cast<size_t>(token)]), position_of(positions, token));
  const auto [begin, end] = listed_.equal_range(hash);
  for (auto entry = begin; entry != end; ++entry) {
    const Chunk& candidate = chunk(entry->second);
    bool is_equal = candidate.parent == parent;
    for (int32_t i = 0; is_equal && i < options_.chunk_tokens; ++i)
      is_equal =
          candidate.tokens[static_cast<size_t>(i)] == tokens[static_cast<size_t>(first + i)] &&
          candidate.positions[static_cast<size_t>(i)] == position_of(positions, first + i);
    if (is_equal) found.push_back(entry->second);
  }
}

// ---- Chunks ----

namespace {

uint64_t hash_of(const Chunk& chunk) {
  uint64_t hash = mixed(0, chunk.parent);
  for (size_t i = 0; i < chunk.tokens.size(); ++i)
    hash = mixed(mixed(hash, chunk.tokens[i]), chunk.positions[i]);
  return hash;
}

}  // namespace

void PrefixTree::list(int32_t index) {
  if (!matches_chunks(options_.matching)) return;
  Chunk& c = chunk_at(index);
  // All tokens after a private token are private too, so the last token tells whether the chunk has
  // any. Chunks with private tokens are not listed, so a match never compares a private token.
  if (c.tokens.back() == kPrivateToken) return;
  listed_.emplace(hash_of(c), index);
  c.is_listed = true;
}

void PrefixTree::unlist(int32_t index) {
  Chunk& c = chunk_at(index);
  if (!c.is_listed) return;
  const auto [begin, end] = listed_.equal_range(hash_of(c));
  listed_.erase(std::find_if(begin, end, [&](const auto& entry) { return entry.second == index; }));
  c.is_listed = false;
}

int32_t PrefixTree::take_block(kv::BlockPool& pool) {
  if (pool.free_blocks() == 0 && !idle_.empty()) {
    const int32_t oldest = idle_.front();
    idle_.pop_front();
    free_chunk(oldest, pool);
  }
  return pool.take();
}

// Returns -1 if no block is free.
int32_t PrefixTree::new_chunk(int32_t parent, int32_t first_token, kv::BlockPool& pool) {
  const int32_t block = take_block(pool);
  if (block < 0) return -1;
  int32_t index;
  if (free_chunks_.empty()) {
    index = static_cast<int32_t>(chunks_.size());
    chunks_.emplace_back();
  } else {
    index = free_chunks_.back();
    free_chunks_.pop_back();
  }
  Chunk& c = chunk_at(index);
  c.block = block;
  c.parent = parent;
  c.first_token = first_token;
  c.computed = 0;
  c.users = c.pins = c.children = 0;
  c.is_consecutive = true;
  c.tokens.clear();
  c.positions.clear();
  c.last = -1;
  if (parent >= 0) ++chunk_at(parent).children;
  return index;
}

void PrefixTree::free_chunk(int32_t index, kv::BlockPool& pool) {
  unlist(index);
  if (const int32_t parent = chunk(index).parent; parent >= 0) --chunk_at(parent).children;
  pool.release(chunk(index).block);
  free_chunks_.push_back(index);
}

// Frees an unused chunk and its unused descendants, since no match could find these without it.
// Only pinned chunks have such descendants.
void PrefixTree::free_with_descendants(int32_t index, kv::BlockPool& pool) {
  const auto is_behind = [&](int32_t other) {
    while (other >= 0 && other != index) other = chunk(other).parent;
    return other == index;
  };
  if (chunk(index).children > 0) {
    std::vector<int32_t> behind;
    for (int32_t unused : idle_)
      if (is_behind(unused)) behind.push_back(unused);
    for (int32_t unused : behind) {
      idle_.erase(chunk(unused).idle);
      free_chunk(unused, pool);
    }
  }
  REPRISE_CHECK(chunk(index).children == 0, "chunks behind {} are in use", index);
  free_chunk(index, pool);
}

void PrefixTree::add_token(Chunk& c, int32_t token, int32_t position) const {
  if (!c.positions.empty() && position != c.positions.back() + 1) c.is_consecutive = false;
  c.tokens.push_back(token);
  c.positions.push_back(position);
}

// ---- Sequences ----

int32_t PrefixTree::new_entry(SequenceId id) {
  int32_t entry;
  if (free_entries_.empty()) {
    entry = static_cast<int32_t>(sequences_.size());
    sequences_.emplace_back();
  } else {
    entry = free_entries_.back();
    free_entries_.pop_back();
    sequences_[static_cast<size_t>(entry)] = {};
  }
  sequences_[static_cast<size_t>(entry)].id = id;
  entries_.emplace(id, entry);
  return entry;
}

void PrefixTree::respace() {
  int64_t count = 0;
  for (int32_t s = last_entry_; s >= 0; s = at_entry(s).previous) ++count;
  for (int32_t s = last_entry_; s >= 0; s = at_entry(s).previous)
    sequences_[static_cast<size_t>(s)].rank = count-- * kRankSpacing;
}

// Places the entry after `predecessor` in the order of ranks. If `predecessor` is -1, places it
// last.
void PrefixTree::place_after(int32_t entry, int32_t predecessor) {
  if (predecessor < 0) predecessor = last_entry_;
  TreeSequence& sequence = sequences_[static_cast<size_t>(entry)];
  sequence.previous = predecessor;
  if (predecessor < 0) {
    last_entry_ = entry;
    return;
  }
  TreeSequence& before = sequences_[static_cast<size_t>(predecessor)];
  sequence.next = before.next;
  before.next = entry;
  if (sequence.next < 0) {
    last_entry_ = entry;
    sequence.rank = before.rank + kRankSpacing;
    if (before.rank > std::numeric_limits<int64_t>::max() - 2 * kRankSpacing) respace();
    return;
  }
  TreeSequence& after = sequences_[static_cast<size_t>(sequence.next)];
  after.previous = entry;
  sequence.rank = before.rank + (after.rank - before.rank) / 2;
  if (sequence.rank == before.rank) respace();
}

void PrefixTree::unplace(int32_t entry) {
  const TreeSequence& sequence = at_entry(entry);
  if (sequence.previous >= 0)
    sequences_[static_cast<size_t>(sequence.previous)].next = sequence.next;
  if (sequence.next >= 0)
    sequences_[static_cast<size_t>(sequence.next)].previous = sequence.previous;
  else
    last_entry_ = sequence.previous;
}

bool PrefixTree::insert(SequenceId id, const PrefixMatch& match, std::span<const int32_t> tokens,
                        std::span<const int32_t> positions, int32_t most_tokens,
                        int32_t spare_blocks, kv::BlockPool& pool) {
  const auto num_tokens = static_cast<int32_t>(tokens.size());
  REPRISE_CHECK(!contains(id), "sequence {} is in the tree already", id);
  REPRISE_CHECK(pool.options().block_tokens == options_.chunk_tokens, "blocks of {}, chunks of {}",
                pool.options().block_tokens, options_.chunk_tokens);
  REPRISE_CHECK(match.tokens <= num_tokens && num_tokens <= most_tokens);
  const auto matched_unused = static_cast<int32_t>(std::count_if(
      match.chunks.begin(), match.chunks.end(),
      [&](int32_t index) { return chunk(index).users == 0 && chunk(index).pins == 0; }));
  const int32_t available = pool.free_blocks() + unused_chunks() - matched_unused - spare_blocks;
  const int32_t needed = chunks_for(num_tokens - match.tokens);
  if (needed > available) return false;

  // The entry is placed after the last user of the deepest matched chunk that has users. So each
  // chunk's users stay neighbours.
  int32_t predecessor = -1;
  for (int32_t index : match.chunks)
    if (chunk(index).users > 0) predecessor = chunk(index).last;
  const int32_t entry = new_entry(id);
  place_after(entry, predecessor);
  for (int32_t index : match.chunks) {
    Chunk& c = chunk_at(index);
    if (c.users == 0 && c.pins == 0) idle_.erase(c.idle);
    if (c.users == 0 || c.last == predecessor) c.last = entry;
    if (c.users > 0) shared_tokens_ += c.filled();
    ++c.users;
  }
  peak_shared_tokens_ = std::max(peak_shared_tokens_, shared_tokens_);

  TreeSequence& sequence = sequences_[static_cast<size_t>(entry)];
  sequence.path = match.chunks;
  sequence.tokens = match.tokens;
  sequence.most_tokens = most_tokens;
  sequence.pinned_chunks = match.pinned_chunks;
  sequence.pinned_tokens = match.pinned_tokens;
  for (int32_t token = match.tokens; token < num_tokens; ++token) {
    const bool has_grown =
        grow(entry, tokens[static_cast<size_t>(token)], position_of(positions, token), pool);
    REPRISE_CHECK(has_grown, "{} blocks were there for {} tokens", available, num_tokens);
  }
  ++version_;
  return true;
}

bool PrefixTree::grow(int32_t entry, int32_t token, int32_t position, kv::BlockPool& pool) {
  TreeSequence& sequence = sequences_[static_cast<size_t>(entry)];
  REPRISE_CHECK(sequence.tokens < sequence.most_tokens, "sequence {} grows beyond its {} tokens",
                sequence.id, sequence.most_tokens);
  const bool at_boundary = (sequence.tokens - sequence.pinned_tokens) % options_.chunk_tokens == 0;
  if (at_boundary) {
    const int32_t parent = sequence.path.empty() ? -1 : sequence.path.back();
    const int32_t index = new_chunk(parent, sequence.tokens, pool);
    if (index < 0) return false;
    Chunk& added = chunk_at(index);
    added.users = 1;
    added.last = entry;
    sequence.path.push_back(index);
  }
  const int32_t tail = sequence.path.back();
  add_token(chunk_at(tail), token, position);
  ++sequence.tokens;
  if (chunk(tail).filled() == options_.chunk_tokens) list(tail);
  return true;
}

bool PrefixTree::append(SequenceId id, int32_t token, int32_t position, kv::BlockPool& pool) {
  return grow(entry_of(id), token, position, pool);
}

void PrefixTree::mark_computed(SequenceId id, int32_t first_token, int32_t end_token) {
  if (first_token >= end_token) return;
  const TreeSequence& of = sequence(id);
  const int32_t last = of.chunk_of(end_token - 1, options_.chunk_tokens);
  for (int32_t k = of.chunk_of(first_token, options_.chunk_tokens); k <= last; ++k) {
    Chunk& c = chunk_at(of.path[static_cast<size_t>(k)]);
    c.computed = std::max(c.computed, std::min(c.filled(), end_token - c.first_token));
  }
}

bool PrefixTree::can_be_found(const Chunk& c) const {
  return c.pins > 0 || (c.is_listed && c.computed == options_.chunk_tokens);
}

void PrefixTree::leave(int32_t entry, kv::BlockPool& pool) {
  const TreeSequence& sequence = at_entry(entry);
  unplace(entry);
  // Only leading chunks of the path that a match can find may outlive their users.
  size_t kept = 0;
  while (options_.retain && kept < sequence.path.size() && can_be_found(chunk(sequence.path[kept])))
    ++kept;
  for (size_t k = sequence.path.size(); k-- > 0;) {
    const int32_t index = sequence.path[k];
    Chunk& c = chunk_at(index);
    // A chunk's users are neighbours. If its last user leaves, the user before becomes the last.
    if (c.last == entry) c.last = sequence.previous;
    if (--c.users > 0) {
      shared_tokens_ -= c.filled();
    } else if (c.pins > 0) {
      c.last = -1;
    } else if (k < kept) {
      c.idle = idle_.insert(idle_.end(), index);
    } else {
      free_with_descendants(index, pool);
    }
  }
  entries_.erase(sequence.id);
  free_entries_.push_back(entry);
  ++version_;
}

void PrefixTree::remove(SequenceId id, kv::BlockPool& pool) { leave(entry_of(id), pool); }

void PrefixTree::pin(SequenceId id, kv::BlockPool& pool) {
  const int32_t at = entry_of(id);
  Pinned pinned{.path = at_entry(at).path, .tokens = at_entry(at).tokens};
  for (int32_t index : pinned.path) ++chunk_at(index).pins;
  pinned_.emplace(id, std::move(pinned));
  leave(at, pool);
}

void PrefixTree::unpin(SequenceId id, kv::BlockPool& pool) {
  const auto found = pinned_.find(id);
  REPRISE_CHECK(found != pinned_.end(), "prefix {} is not pinned", id);
  const std::vector<int32_t> path = std::move(found->second.path);
  pinned_.erase(found);
  for (int32_t index : path) --chunk_at(index).pins;
  for (size_t k = path.size(); k-- > 0;) {
    Chunk& c = chunk_at(path[k]);
    if (c.users > 0 || c.pins > 0) continue;
    // The chunk is placed after all of its descendants in idle_, so that no chunk is evicted before
    // its descendants.
    if (options_.retain && can_be_found(c))
      c.idle = idle_.insert(idle_.end(), path[k]);
    else
      free_with_descendants(path[k], pool);
  }
  ++version_;
}

}  // namespace reprise::reuse
