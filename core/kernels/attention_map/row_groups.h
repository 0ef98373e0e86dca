// Finds groups of a plan's rows whose attention maps can be computed together, as matrix products.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/kv/plan.h"

namespace reprise::kernels {

// Neighbouring rows that read the same items, mostly the rows of a prompt.
struct RowGroup {
  int32_t first_row = 0, end_row = 0;
  // The row that sees the most keys. If is_prefix, every other row of the group sees a prefix of
  // that row's keys.
  int32_t longest_row = 0;
  // True if every row sees a prefix of the items' keys, and at least one row sees a key. If false,
  // the rows are computed one by one.
  bool is_prefix = false;

  [[nodiscard]] int32_t rows() const { return end_row - first_row; }
  // True if the group is computed as a matrix product: is_prefix, and enough rows to repay packing
  // the keys or values.
  [[nodiscard]] bool is_product() const { return is_prefix && rows() >= 8; }
};

// [rows]  number of keys that each row sees, or -1 if these are not a prefix of its keys.
std::vector<int32_t> seen_keys(const kv::AttentionPlan& plan);

// Appends the groups of rows [first_row, end_row) to `groups`.
void append_groups(const kv::AttentionPlan& plan, std::span<const int32_t> seen, int32_t first_row,
                   int32_t end_row, std::vector<RowGroup>& groups);

}  // namespace reprise::kernels
