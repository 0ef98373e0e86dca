// In which pieces each family's files store the canonical tensors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/model/checkpoint/weights.h"

namespace reprise::model {

// One tensor of the file. A vector has the shape [n], a matrix [out, in].
struct StoredTensor {
  std::string name;
  std::vector<int64_t> shape;
};

// In the place of a stored tensor: the stretch is 0 in every file of the family.
inline constexpr size_t kZeros = static_cast<size_t>(-1);

// A stretch of the canonical tensor, in elements, that lies in one piece in a stored one.
struct StoredRun {
  int64_t first = 0, count = 0;  // of the canonical tensor
  size_t stored = 0;             // index into StoredLayout::tensors, or kZeros
  int64_t stored_first = 0;      // element of that tensor
};

struct StoredLayout {
  std::vector<StoredTensor> tensors;
  std::vector<StoredRun> runs;  // sorted by first; they cover the canonical tensor exactly
};

// How files of the config's family store `tensor`; names carry the prefix (but for the head's).
StoredLayout stored_layout(const ModelConfig& config, const TensorSpec& tensor);
// Tensors that some files carry and no computation here needs: rotary frequencies and position
// numbers, recomputed; an encoder's pooler and the heads of its tasks, which follow the hidden
// states.
bool is_ignorable(const ModelConfig& config, std::string_view name);

}  // namespace reprise::model
