#include "core/engine/step.h"

#include <algorithm>
#include <numeric>

#include "core/kernels/attention/attention_schedule.h"
#include "core/reuse/plan_builder.h"

namespace reprise::engine {

void Step::arrange() {
  ranks_.clear();
  for (const reuse::StepSequence& part : parts_) ranks_.push_back(method_.row_rank(part.id));
  order_.resize(parts_.size());
  std::iota(order_.begin(), order_.end(), 0);
  const auto rank = [&](int32_t i) { return ranks_[static_cast<size_t>(i)]; };
  std::sort(order_.begin(), order_.end(),
            [&](int32_t a, int32_t b) { return rank(a) != rank(b) ? rank(a) < rank(b) : a < b; });
  batch_.clear();
  rows_ = 0;
  for (const int32_t i : order_) {
    batch_.push_back(parts_[static_cast<size_t>(i)]);
    batch_.back().first_row = rows_;
    rows_ += batch_.back().rows;
  }
}

const kv::AttentionPlan& Step::plan() {
  reuse::write_plan(method_, contributors_, batch_, pool_, plan_);
  return plan_;
}

int64_t Step::part_of(int32_t row) const {
  const auto behind = std::upper_bound(
      batch_.begin(), batch_.end(), row,
      [](int32_t r, const reuse::StepSequence& part) { return r < part.first_row; });
  return behind - batch_.begin() - 1;
}

int64_t Step::read_before(const kv::WorkItem& item) {
  const kv::Segment& segment = plan_.segment_of(item);
  if (segment.cache != 0) {
    const bool was_read = is_read_[static_cast<size_t>(item.segment)];
    is_read_[static_cast<size_t>(item.segment)] = true;
    return was_read ? segment.tokens : 0;
  }
  const int64_t stride = pool_.offset_of(1);
  int64_t repeated = 0;
  int32_t skipped = segment.skipped;
  for (int32_t block = segment.first_block, left = segment.tokens; left > 0; ++block) {
    const int32_t tokens = std::min(left, segment.block_tokens - skipped);
    // Offset of the first token that is read; see kv::Segment.
    const int64_t begin =
        plan_.block_offsets[static_cast<size_t>(block)] + skipped * plan_.head_dim();
    // A run that does not start at a block's beginning belongs to one sequence alone.
    if (begin % stride == 0) {
      uint32_t& last = last_read_[static_cast<size_t>(begin / stride)];
      repeated += last == reads_ ? tokens : 0;
      last = reads_;
    }
    left -= tokens;
    skipped = 0;
  }
  return repeated;
}

PlanReads Step::reads(const std::vector<bool>& counts, int64_t window) {
  // before[i]: number of counted parts among the first i.
  std::vector<int32_t> before(counts.size() + 1, 0);
  for (size_t i = 0; i < counts.size(); ++i) before[i + 1] = before[i] + (counts[i] ? 1 : 0);
  last_read_.resize(static_cast<size_t>(pool_.options().num_blocks), 0);
  ++reads_;
  is_read_.assign(plan_.segments.size(), false);
  PlanReads reads;
  for (const kv::WorkItem& item : plan_.items) {
    reads.tokens += kernels::seen_keys(plan_, item, item.first_row, item.end_row, window).count();
    const auto first = static_cast<size_t>(part_of(item.first_row));
    const auto last = static_cast<size_t>(part_of(item.end_row - 1));
    const int32_t readers = before[last + 1] - before[first];
    if (readers == 0) continue;
    reads.spared_tokens += int64_t{readers - 1} * plan_.segment_of(item).tokens;
    reads.repeated_tokens += read_before(item);
  }
  return reads;
}

}  // namespace reprise::engine
