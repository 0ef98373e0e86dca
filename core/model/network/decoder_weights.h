// The weights of a decoder in the form the kernels read.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/device/tensor.h"
#include "core/kernels/linear/weight.h"
#include "core/model/checkpoint/weights.h"

namespace reprise::model {

// One part of a model as it was loaded; which field holds its weight depends on the part's kind.
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
  [[nodiscard]] int64_t bytes() const;  // of tables and matrices, with those of the experts

  std::vector<PartSet> experts;  // of a layer that has them; their parts are expert parts alone

 private:
  std::array<LoadedPart, kParts> parts_;
};

struct DecoderWeights {
  WeightType type;  // of the layers' matrices
  PartSet model;    // what belongs to no layer; a tied embedding's rows are those of the head
  std::vector<PartSet> layers;

  [[nodiscard]] int64_t bytes() const;
  // Where the role's part belongs; makes room for its expert.
  [[nodiscard]] PartSet& set_of(const Role& role);
};

// Reads and packs every tensor, one after the other, so that peak memory stays near the packed
// size: matrices as held_type() says, tables in the dtype of the inputs. Throws Error with need and
// have when the weights will not fit, and naming the tensor where one has no codes.
DecoderWeights load_weights(const ModelConfig& config, const WeightSource& source,
                            const WeightType& type, const Context& context);

}  // namespace reprise::model
