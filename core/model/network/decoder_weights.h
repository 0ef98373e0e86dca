// The weights of a decoder in the form that the kernels read.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/device/tensor.h"
#include "core/kernels/linear/weight.h"
#include "core/model/checkpoint/weights.h"

namespace reprise::model {

// One loaded part of a model. The part's kind determines which field holds its weight.
struct LoadedPart {
  Tensor table;            // kTable: [rows, cols] in the model's dtype
  kernels::Weight matrix;  // kMatrix
  Tensor values;           // kNorm: [cols] f32
  Tensor bias;             // [rows] f32; empty: none
};

class PartSet {
 public:
  [[nodiscard]] LoadedPart& operator[](Part part) { return parts_[static_cast<size_t>(part)]; }
  [[nodiscard]] const LoadedPart& operator[](Part part) const {
    return parts_[static_cast<size_t>(part)];
  }
  // Bytes of all tables and matrices, including those of experts.
  [[nodiscard]] int64_t bytes() const;

  std::vector<PartSet> experts;  // [routed experts]  each holds the parts of one expert

 private:
  std::array<LoadedPart, kParts> parts_;
};

struct DecoderWeights {
  WeightType type;  // storage of the layers' matrices
  PartSet model;    // parts outside of layers; a tied embedding is stored as kHead
  std::vector<PartSet> layers;

  [[nodiscard]] int64_t bytes() const;
  // Returns the set that holds the role's part. If needed, makes room for the role's expert.
  [[nodiscard]] PartSet& set_of(const Role& role);
};

// Reads and packs all tensors one by one, so that peak memory stays near the packed size. Matrices
// are stored as held_type() says, tables in the dtype of the inputs. Throws MemoryError if the
// weights will not fit into memory, and Error naming the tensor if one cannot be quantized.
DecoderWeights load_weights(const ModelConfig& config, const WeightSource& source,
                            const WeightType& type, const Context& context);

}  // namespace reprise::model
