// Groups rows of a plan that can be computed together as matrix products.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/kv/plan.h"

namespace reprise::kernels {

// Neighbouring rows that read the same items, mostly the rows of a prompt.
struct RowGroup {
  int32_t first_row = 0, end_row = 0;
  // the row that sees most keys; every other row sees the first ones of these
  int32_t longest_row = 0;
  // True if every row sees the first keys of the group's numbering, and at least one row sees a
  // key. Otherwise rows are computed one by one.
  bool is_prefix = false;

  [[nodiscard]] int32_t rows() const { return end_row - first_row; }
  // True if a product is worth packing the keys or values for it: not for few rows.
  [[nodiscard]] bool is_product() const { return is_prefix && rows() >= 8; }
};

// [rows]  number of keys that each row sees, or -1 if these are not the first keys of its
// numbering.
std::vector<int32_t> seen_keys(const kv::AttentionPlan& plan);

// Appends the groups of rows [first_row, end_row) to `groups`.
void append_groups(const kv::AttentionPlan& plan, std::span<const int32_t> seen, int32_t first_row,
                   int32_t end_row, std::vector<RowGroup>& groups);

}  // namespace reprise::kernels
