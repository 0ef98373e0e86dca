#include "core/kernels/attention_map/row_groups.h"

#include <algorithm>

#include "core/kernels/attention_map/row_keys.h"

namespace reprise::kernels {
namespace {

bool shares_items(const kv::AttentionPlan& plan, int32_t row, int32_t other) {
  const auto begin = [&](int32_t r) {
    return plan.row_items.begin() + plan.row_begin[static_cast<size_t>(r)];
  };
  return std::equal(begin(row), begin(row + 1), begin(other), begin(other + 1));
}

int32_t seen_by(const kv::AttentionPlan& plan, int64_t row) {
  int64_t seen = 0;
  bool has_gap = false;
  for_key_runs(plan, row, [&](const KeyRun& run) {
    has_gap |= run.first_key != seen;
    seen = run.first_key + run.tokens;
  });
  return has_gap ? -1 : static_cast<int32_t>(seen);
}

}  // namespace

std::vector<int32_t> seen_keys(const kv::AttentionPlan& plan) {
  std::vector<int32_t> seen;
  for (int64_t row = 0; row < plan.rows(); ++row) seen.push_back(seen_by(plan, row));
  return seen;
}

void append_groups(const kv::AttentionPlan& plan, std::span<const int32_t> seen, int32_t first_row,
                   int32_t end_row, std::vector<RowGroup>& groups) {
  for (int32_t row = first_row; row < end_row;) {
    RowGroup group{.first_row = row, .end_row = row + 1};
    while (group.end_row < end_row && shares_items(plan, row, group.end_row)) ++group.end_row;
    const auto first = seen.begin() + group.first_row, end = seen.begin() + group.end_row;
    group.longest_row = static_cast<int32_t>(std::max_element(first, end) - seen.begin());
    group.is_prefix = *std::min_element(first, end) >= 0 && *std::max_element(first, end) > 0;
    groups.push_back(group);
    row = group.end_row;
  }
}

}  // namespace reprise::kernels
