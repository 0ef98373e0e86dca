// Reads and writes the file of a projector, and names its tensors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "methods/attn_cache/projector.h"

namespace reprise::attn_cache {

// One tensor of a projector's weights.
template <typename Values>
struct NamedTensor {
  std::string name;
  std::vector<int64_t> shape;
  Values* values;

  [[nodiscard]] int64_t elements() const {
    int64_t product = 1;
    for (const int64_t extent : shape) product *= extent;
    return product;
  }
};
using ProjectorTensor = NamedTensor<const std::vector<float>>;
using MutableProjectorTensor = NamedTensor<std::vector<float>>;

// The tensors of a projector of this shape, in the file's order.
std::vector<ProjectorTensor> tensors_of(const ProjectorShape& shape,
                                        const ProjectorWeights& weights);
std::vector<MutableProjectorTensor> tensors_of(const ProjectorShape& shape,
                                               ProjectorWeights& weights);

// The shape as the file's metadata hold it.
Fields describe_shape(const ProjectorShape& shape);

struct ProjectorFile {
  ProjectorShape shape;
  ProjectorWeights weights;
  ProjectorOrigin origin;
};

// Projector::load() and save() describe the file and the errors.
ProjectorFile read_projector(const std::filesystem::path& path);
void write_projector(const std::filesystem::path& path, const ProjectorShape& shape,
                     const ProjectorWeights& weights, const ProjectorOrigin& origin);

}  // namespace reprise::attn_cache
