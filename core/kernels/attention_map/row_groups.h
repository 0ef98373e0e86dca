// Rows of a plan that can be computed together, as products of matrices.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/kv/plan.h"

namespace reprise::kernels {

// Neighbouring rows that share their items: those of a prompt, mostly.
struct RowGroup {
  int32_t first_row = 0, end_row = 0;
  int32_t longest_row = 0;  // that sees most keys, which are the first ones of every other row too
  // Whether each row sees the first keys of the group's numbering, and some row any: else rows are
  // computed one by one.
  bool is_prefix = false;

  [[nodiscard]] int32_t rows() const { return end_row - first_row; }
  // Whether a product is worth it: it packs keys or values first, which few rows do not repay.
  [[nodiscard]] bool is_product() const { return is_prefix && rows() >= 8; }
};

// Of each row, how many keys it sees where those are the first ones of its numbering, else -1.
// [rows]
std::vector<int32_t> seen_keys(const kv::AttentionPlan& plan);

// Rows [first_row, end_row) in groups, appended to `groups`.
void append_groups(const kv::AttentionPlan& plan, std::span<const int32_t> seen, int32_t first_row,
                   int32_t end_row, std::vector<RowGroup>& groups);

}  // namespace reprise::kernels
