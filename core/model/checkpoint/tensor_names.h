// Maps each canonical tensor to the tensors that store it in files of each family.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/model/checkpoint/weights.h"

namespace reprise::model {

// One tensor of a file. A vector has the shape [n], a matrix [out, in].
struct StoredTensor {
  std::string name;
  std::vector<int64_t> shape;
};

// Value of StoredRun::stored for elements that are 0 and that no file of the family stores.
inline constexpr size_t kZeros = static_cast<size_t>(-1);

// A run of elements of a canonical tensor that lie side by side in one stored tensor.
struct StoredRun {
  int64_t first = 0, count = 0;  // elements of the canonical tensor
  size_t stored = 0;             // index into StoredLayout::tensors, or kZeros
  int64_t stored_first = 0;      // index of the run's first element in the stored tensor
};

struct StoredLayout {
  std::vector<StoredTensor> tensors;
  std::vector<StoredRun> runs;  // sorted by `first`; together they cover the canonical tensor
};

// Returns how files of the config's family store `tensor`. Names include the family's prefix,
// except the name of the head.
StoredLayout stored_layout(const ModelConfig& config, const TensorSpec& tensor);
// True for tensors that some files contain but that no computation here needs. These are rotary
// frequencies and position numbers, which are recomputed; the position table of a DeBERTa without
// absolute positions; and an encoder's pooler and task heads, which come after the hidden states.
bool is_ignorable(const ModelConfig& config, std::string_view name);

}  // namespace reprise::model
