#include "core/reuse/tree_plan.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/kernels/attention/tiling.h"

namespace reprise::reuse {
namespace {

const Chunk& chunk_on(const PrefixTree& tree, const TreeSequence& sequence, int32_t k) {
  return tree.chunk(sequence.path[static_cast<size_t>(k)]);
}

bool is_full(const kv::Segment& segment) {
  return (segment.skipped + segment.tokens) % segment.block_tokens == 0;
}

// Number of tokens to skip in a segment that begins with chunk `k` of the path and continues with
// the next chunk. Among chunks with successors, only the last chunk of a pinned prefix may be
// partly filled. Its tokens then count as the last tokens of its block.
int32_t skipped_before(const PrefixTree& tree, const TreeSequence& sequence, int32_t k) {
  if (k + 1 != sequence.pinned_chunks) return 0;
  const int32_t skipped = tree.options().chunk_tokens - chunk_on(tree, sequence, k).filled();
  // With another number of skipped tokens, the kernels would have to copy.
  return skipped % kernels::cpu::kRowGroup == 0 ? skipped : 0;
}

// True if a sequence's own segments must end with chunks [first_chunk, end_chunk), whether these
// are shared or not.
bool cuts_reading(const PrefixTree& tree, const TreeSequence& sequence, int32_t first_chunk,
                  int32_t end_chunk) {
  const int32_t last = end_chunk - 1;
  if (chunk_on(tree, sequence, last).filled() == tree.options().chunk_tokens) return false;
  return first_chunk < last || skipped_before(tree, sequence, last) == 0;
}

// Appends segments for those tokens of the path's chunks [first_chunk, end_chunk) that come before
// end_token: as few segments as consecutive positions and partitions allow. Calls done(segment,
// first token) for each.
template <typename Done>
void append_segments(const PrefixTree& tree, const TreeSequence& sequence, int32_t first_chunk,
                     int32_t end_chunk, int32_t end_token, int32_t partition_tokens,
                     const kv::BlockPool& pool, kv::AttentionPlan& out, Done&& done) {
  const int32_t block_tokens = tree.options().chunk_tokens;
  int32_t segment_token = 0;  // first token of the open segment
  bool is_open = false;
  const auto open = [&](int32_t token, int32_t position, int32_t skipped) {
    segment_token = token;
    is_open = true;
    out.segments.push_back({.first_block = static_cast<int32_t>(out.block_offsets.size()),
                            .block_tokens = block_tokens,
                            .skipped = skipped,
                            .tokens = 0,
                            .first_position = position});
  };
  const auto close = [&] {
    if (is_open) done(static_cast<int32_t>(out.segments.size()) - 1, segment_token);
    is_open = false;
  };
  for (int32_t k = first_chunk; k < end_chunk; ++k) {
    const Chunk& chunk = chunk_on(tree, sequence, k);
    const int32_t tokens = std::min(chunk.filled(), end_token - chunk.first_token);
    if (chunk.is_consecutive) {
      if (is_open) {
        const kv::Segment& segment = out.segments.back();
        const bool goes_on =
            is_full(segment) && segment.first_position + segment.tokens == chunk.positions[0] &&
            (partition_tokens == 0 || segment.skipped + segment.tokens < partition_tokens);
        if (!goes_on) close();
      }
      int32_t skipped = 0;
      if (!is_open) {
        if (k + 1 < end_chunk) skipped = skipped_before(tree, sequence, k);
        open(chunk.first_token, chunk.positions[0], skipped);
      }
      out.block_offsets.push_back(pool.offset_of(chunk.block, -skipped));
      out.segments.back().tokens += tokens;
      continue;
    }
    close();
    for (int32_t first = 0; first < tokens;) {
      const int32_t position = chunk.positions[static_cast<size_t>(first)];
      int32_t end = first + 1;
      while (end < tokens && chunk.positions[static_cast<size_t>(end)] == position + end - first)
        ++end;
      open(chunk.first_token + first, position, 0);
      out.block_offsets.push_back(pool.offset_of(chunk.block, first));
      out.segments.back().tokens = end - first;
      close();
      first = end;
    }
  }
  close();
}

}  // namespace

bool TreePlanner::advance(const PrefixTree& tree, StepBatch batch, const kv::BlockPool& pool,
                          kv::AttentionPlan& plan) {
  if (!advance_rows(tree, batch, pool, plan)) return false;
  ++advanced_;
  plan.revision = ++revision_;
  return true;
}

bool TreePlanner::advance_rows(const PrefixTree& tree, StepBatch batch, const kv::BlockPool& pool,
                               kv::AttentionPlan& out) {
  if (revision_ == 0 || out.revision != revision_ || !is_decode_ ||
      tree.version() != tree_version_ || batch.size() != readers_.size())
    return false;
  const int32_t chunk_tokens = tree.options().chunk_tokens;
  for (size_t i = 0; i < batch.size(); ++i) {
    const StepSequence& part = batch[i];
    Reader& reader = readers_[i];
    const TreeSequence& sequence = *reader.sequence;
    const int32_t token = part.first_token;
    if (sequence.id != part.id || part.rows != 1 || token != next_tokens_[i] || reader.tail < 0)
      return false;
    const int32_t k = sequence.chunk_of(token, chunk_tokens);
    const Chunk& chunk = chunk_on(tree, sequence, k);
    kv::Segment& segment = out.segments[static_cast<size_t>(reader.tail)];
    const int32_t in_chunk = token - chunk.first_token;
    const int32_t position = chunk.positions[static_cast<size_t>(in_chunk)];
    if (position != segment.first_position + segment.tokens || chunk.computed > in_chunk)
      return false;
    // Sequences with equal prompts may compute a common token in the same step. Only one of their
    // rows may write it, so the slots must be assigned anew.
    if (chunk.users > 1) return false;
    if (in_chunk == 0) {
      const int32_t block = (segment.skipped + segment.tokens) / chunk_tokens;
      if (!is_full(segment) || block >= reader.tail_blocks) return false;
      out.block_offsets[static_cast<size_t>(segment.first_block + block)] =
          pool.offset_of(chunk.block);
    }
    ++segment.tokens;
    ++next_tokens_[i];
    out.row_positions[i] = position;
    out.row_lengths[i] = part.length;
    out.row_slots[i] = pool.offset_of(chunk.block, in_chunk);
  }
  return true;
}

void TreePlanner::read_batch(const PrefixTree& tree, StepBatch batch) {
  const int32_t chunk_tokens = tree.options().chunk_tokens;
  readers_.clear();
  next_tokens_.clear();
  is_decode_ = true;
  for (const StepSequence& part : batch) {
    Reader reader;
    reader.sequence = &tree.sequence(part.id);
    reader.end_token = part.first_token + part.rows;
    REPRISE_CHECK(reader.end_token <= reader.sequence->tokens, "token {} of {} in the tree",
                  reader.end_token, reader.sequence->tokens);
    reader.end_chunk = reader.sequence->chunk_of(reader.end_token - 1, chunk_tokens) + 1;
    // All rows read the chunk of the first row's token as a whole if this token is the chunk's
    // last.
    reader.whole = reader.sequence->chunk_of(part.first_token, chunk_tokens);
    if (chunk_on(tree, *reader.sequence, reader.whole).end_token() == part.first_token + 1)
      ++reader.whole;
    is_decode_ = is_decode_ && part.rows == 1;
    readers_.push_back(reader);
    next_tokens_.push_back(reader.end_token);
  }
  for (size_t i = 0; i + 1 < readers_.size(); ++i) {
    const std::vector<int32_t>& path = readers_[i].sequence->path;
    const std::vector<int32_t>& next = readers_[i + 1].sequence->path;
    // If two paths of a tree are equal at one depth, they are equal at all smaller depths.
    int32_t equal = 0, end = std::min(readers_[i].whole, readers_[i + 1].whole);
    while (equal < end) {
      const int32_t middle = equal + (end - equal) / 2;
      if (path[static_cast<size_t>(middle)] == next[static_cast<size_t>(middle)])
        equal = middle + 1;
      else
        end = middle;
    }
    readers_[i].common = equal;
  }
}

void TreePlanner::name_slots(const PrefixTree& tree, StepBatch batch, const kv::BlockPool& pool,
                             kv::AttentionPlan& plan) {
  const int32_t chunk_tokens = tree.options().chunk_tokens;
  claims_.resize(tree.chunk_index_end());
  for (const StepSequence& part : batch) {
    const TreeSequence& sequence = tree.sequence(part.id);
    for (int32_t row = 0; row < part.rows; ++row) {
      const int32_t token = part.first_token + row;
      const int32_t k = sequence.chunk_of(token, chunk_tokens);
      const int32_t index = sequence.path[static_cast<size_t>(k)];
      const Chunk& chunk = tree.chunk(index);
      const int32_t in_chunk = token - chunk.first_token;
      Claim& claim = claims_[static_cast<size_t>(index)];
      if (claim.build != built_ + 1) claim = {.build = built_ + 1, .end = chunk.computed};
      if (in_chunk < claim.end) continue;
      claim.end = in_chunk + 1;
      plan.row_slots[static_cast<size_t>(part.first_row + row)] =
          pool.offset_of(chunk.block, in_chunk);
    }
  }
}

void TreePlanner::write(const PrefixTree& tree, StepBatch batch, const kv::BlockPool& pool,
                        kv::AttentionPlan& out) {
  private_.clear();
  out.reduction = options_.reduction;
  tree_version_ = tree.version();
  read_batch(tree, batch);
  name_slots(tree, batch, pool, out);
  const auto num_readers = static_cast<int32_t>(readers_.size());
  if (num_readers > 0) visit(tree, batch, pool, 0, num_readers, 0, out);
  for (int32_t i = 0; i < num_readers; ++i) {
    const Reader& reader = readers_[static_cast<size_t>(i)];
    if (reader.next_chunk < reader.end_chunk)
      private_.push_back(
          {.reader = i, .first_chunk = reader.next_chunk, .end_chunk = reader.end_chunk});
  }
  std::stable_sort(private_.begin(), private_.end(),
                   [](const PrivateRun& a, const PrivateRun& b) { return a.reader < b.reader; });
  for (const PrivateRun& run : private_)
    append_private(tree, batch[static_cast<size_t>(run.reader)], pool, run, is_decode_, out);
  ++built_;
  out.revision = ++revision_;
}

// Readers [first, end) have the first `depth` chunks of their paths in common. Offers the further
// chunks that all of them have in common as a node. Then visits each group of readers whose paths
// stay together behind this node.
void TreePlanner::visit(const PrefixTree& tree, StepBatch batch, const kv::BlockPool& pool,
                        int32_t first, int32_t end, int32_t depth, kv::AttentionPlan& out) {
  const Reader& reader = readers_[static_cast<size_t>(first)];
  const int32_t declared = reader.sequence->pinned_chunks;
  int32_t common = end - first == 1 ? std::min(declared, reader.whole) : reader.common;
  for (int32_t i = first; i + 1 < end; ++i)
    common = std::min(common, readers_[static_cast<size_t>(i)].common);
  // A pinned prefix is a node of its own, even with one reader.
  if (depth < declared && declared < common) {
    offer(tree, batch, pool, first, end, depth, declared, out);
    depth = declared;
  }
  if (depth < common) offer(tree, batch, pool, first, end, depth, common, out);
  if (end - first == 1) return;
  for (int32_t i = first, group = first; i < end; ++i)
    if (i + 1 == end || readers_[static_cast<size_t>(i)].common == common) {
      visit(tree, batch, pool, group, i + 1, std::max(depth, common), out);
      group = i + 1;
    }
}

void TreePlanner::offer(const PrefixTree& tree, StepBatch batch, const kv::BlockPool& pool,
                        int32_t first, int32_t end, int32_t first_chunk, int32_t end_chunk,
                        kv::AttentionPlan& out) {
  const TreeSequence& sequence = *readers_[static_cast<size_t>(first)].sequence;
  const StepSequence& last = batch[static_cast<size_t>(end) - 1];
  const int32_t first_row = batch[static_cast<size_t>(first)].first_row;
  const int32_t end_row = last.first_row + last.rows;
  const int32_t first_token = chunk_on(tree, sequence, first_chunk).first_token;
  const int32_t end_token = chunk_on(tree, sequence, end_chunk - 1).end_token();
  const TreeNode node{.first_token = first_token,
                      .tokens = end_token - first_token,
                      .sequences = end - first,
                      .rows = end_row - first_row,
                      .is_pinned = end_chunk <= sequence.pinned_chunks,
                      .cuts_reading = cuts_reading(tree, sequence, first_chunk, end_chunk)};
  if (!shares_ || !shares_(node)) return;
  append_segments(
      tree, sequence, first_chunk, end_chunk, end_token, options_.shared_partition_tokens, pool,
      out, [&](int32_t segment, int32_t) {
        out.items.push_back({.segment = segment, .first_row = first_row, .end_row = end_row});
      });
  for (int32_t i = first; i < end; ++i) {
    Reader& reader = readers_[static_cast<size_t>(i)];
    if (reader.next_chunk < first_chunk)
      private_.push_back({.reader = i, .first_chunk = reader.next_chunk, .end_chunk = first_chunk});
    reader.next_chunk = end_chunk;
  }
}

void TreePlanner::append_private(const PrefixTree& tree, const StepSequence& part,
                                 const kv::BlockPool& pool, const PrivateRun& run, bool is_decode,
                                 kv::AttentionPlan& out) {
  Reader& reader = readers_[static_cast<size_t>(run.reader)];
  const int32_t partition = options_.private_partition_tokens;
  append_segments(tree, *reader.sequence, run.first_chunk, run.end_chunk, reader.end_token,
                  partition, pool, out, [&](int32_t segment, int32_t first_token) {
                    const int32_t end_token =
                        first_token + out.segments[static_cast<size_t>(segment)].tokens;
                    // Rows of tokens from `first_token` on read the segment. Rows of tokens inside
                    // the segment read it causally.
                    const int32_t row_token = std::max(first_token, part.first_token);
                    const bool is_inside = row_token < end_token - 1;
                    out.items.push_back({.segment = segment,
                                         .first_row = part.first_row + row_token - part.first_token,
                                         .end_row = part.first_row + part.rows,
                                         .mask = is_inside ? kv::Mask::kCausal : kv::Mask::kNone,
                                         .visible = is_inside ? row_token - first_token + 1 : 0});
                  });
  const Chunk& last = chunk_on(tree, *reader.sequence, run.end_chunk - 1);
  if (!is_decode || run.end_chunk != reader.end_chunk || !last.is_consecutive) return;
  // Leaves room for the offsets of later blocks, so that the plan can be advanced beyond the end of
  // the chunk.
  reader.tail = static_cast<int32_t>(out.segments.size()) - 1;
  const kv::Segment& tail = out.segments.back();
  const auto used = static_cast<int32_t>(out.block_offsets.size()) - tail.first_block;
  reader.tail_blocks = used + tree.most_chunks(*reader.sequence) - reader.end_chunk;
  if (partition > 0)
    reader.tail_blocks = std::min(reader.tail_blocks, partition / tree.options().chunk_tokens);
  out.block_offsets.resize(static_cast<size_t>(tail.first_block + reader.tail_blocks));
}

}  // namespace reprise::reuse
