// The sources of a model's weights. A source gives one canonical set of tensors, whatever the
// family and the file format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/weight_format.h"
#include "core/model/config/config.h"

namespace reprise::model {

// The purpose of a canonical tensor. Matrices are row-major [out, in], as Hugging Face stores
// linear layers; a bias has one row of `out` elements, a norm one row of `hidden`. Random weights
// depend on the order of the enumerators, so new ones must be appended. tensor_table.cpp says which
// models have a part and what files call it.
enum class Part : uint8_t {
  kEmbedding,  // [vocab, hidden]
  kNorm1,      // [1, hidden]  norm before attention; in post-norm blocks after it
  kNorm2,      // [1, hidden]  norm before the MLP; in post-norm blocks after it
  kQkv,        // [(heads + 2 * kv_heads) * head_dim, hidden]  all q heads, then all k, then all v
  kAttentionOut,       // [hidden, heads * head_dim]
  kUp,                 // gated: [2 * intermediate, hidden], all gate rows then all up rows;
                       // else [intermediate, hidden]
  kDown,               // [hidden, intermediate]
  kFinalNorm,          // [1, hidden]
  kHead,               // [vocab, hidden]; no weight if tied to the embedding
  kPositions,          // [max_positions + learned_offset, hidden]
  kTokenTypes,         // [token_types, hidden]
  kEmbeddingNorm,      // [1, hidden]
  kRouter,             // [experts, hidden]
  kExpertUp,           // [2 * experts.intermediate, hidden]  per expert: gate rows, then up rows
  kExpertDown,         // [hidden, experts.intermediate]  per expert
  kSharedUp,           // [2 * experts.shared_intermediate, hidden]  gate rows, then up rows
  kSharedDown,         // [hidden, experts.shared_intermediate]
  kSharedGate,         // [1, hidden]  the sigmoid of its output scales the shared expert
  kRelativePositions,  // [2 * relative.span, hidden]
  kRelativeNorm,       // [1, hidden]  norm of kRelativePositions' rows
  kPositionKey,        // [heads * head_dim, hidden]  makes pk from kRelativePositions, see
                       // RelativeConfig
  kPositionQuery,      // [heads * head_dim, hidden]  makes pq from kRelativePositions
  kConvolution,        // [hidden, hidden * convolution.kernel]  in a row: all taps of input 0, of
                       // input 1, ...
  kConvolutionNorm     // [1, hidden]
};
inline constexpr size_t kParts = static_cast<size_t>(Part::kConvolutionNorm) + 1;

enum class PartKind : uint8_t {
  kTable,   // rows are looked up by index
  kMatrix,  // weight of a linear layer
  kNorm     // a vector whose neutral value is 1
};
PartKind kind_of(Part part);

// One tensor of a model: the weight of a part or its bias.
struct Role {
  Part part = Part::kEmbedding;
  int64_t layer = -1;   // -1: belongs to no layer
  int64_t expert = -1;  // -1: belongs to no expert
  bool is_bias = false;
  auto operator<=>(const Role&) const = default;
};
std::string to_string(const Role& role);  // "up of layer 3", for messages

struct TensorSpec {
  Role role;
  int64_t rows = 0, cols = 0;
};

// All tensors of a model of this config, in the order of a forward pass.
std::vector<TensorSpec> canonical_tensors(const ModelConfig& config);

// Returns the storage type of a part in a model whose matrices have type `type`. Only matrices of
// layers are quantized, except for routers and the shared experts' gates. All other parts, such as
// the embedding and the head [as in bitsandbytes and optimum-quanto], have the dtype of the inputs.
WeightType held_type(Part part, const WeightType& type);
// Bytes of all weights, without padding, of a model whose matrices have type `type`. Tied weights
// count once.
int64_t weight_bytes(const ModelConfig& config, const WeightType& type);

class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // Converts rows [first_row, end_row) of the tensor to `dtype` and writes them row-major to `out`.
  // Thread-safe.
  virtual void read_rows(const TensorSpec& tensor, int64_t first_row, int64_t end_row, DType dtype,
                         void* out) const = 0;
  // Announces that the tensor will not be read again soon, so that its pages may leave memory.
  virtual void release(const TensorSpec& tensor) const = 0;
};

// Corrects `config` if the folder's tensors differ from config.json. This happens in two cases:
// - A decoder was saved without its head, as models for sentence vectors are. Its tensors' names
//   lack the prefix (tensor_table.h). It gets has_head = false, unless its embedding is the head.
// - transformers builds MPT without biases and with an MLP of 4 * hidden, whatever no_bias and
//   expansion_ratio say, and saves both keys unchanged. Files of the original trainer agree with
//   the keys.
void adapt_to_checkpoint(const std::filesystem::path& dir, ModelConfig& config);

// Opens a folder with model.safetensors, or with shards and model.safetensors.index.json, and maps
// the files into memory. Throws Error naming file and tensor if an expected tensor is missing or
// has another shape, or if the files contain a tensor that is neither expected nor ignorable
// (tensor_names.h). The head of a tied model may be there if it equals the embedding, or in its
// place.
std::unique_ptr<WeightSource> open_checkpoint(const std::filesystem::path& dir,
                                              const ModelConfig& config);

// Seeded weights for timing and tests. Element i (row-major) of a tensor depends only on (seed,
// role, i), not on threads, row ranges or instruction set. Each value is a bfloat16 number from a
// uniform distribution around 0. The number is exact in f32, and in f16 unless its magnitude is
// below 2^-17, so a seed gives the same model in every dtype.
//   matrices           standard deviation 1 / sqrt(cols), largest magnitude sqrt(3 / cols)
//   tables             standard deviation 1
//   norm weights       exactly 1
//   biases             standard deviation 0.02
// Nothing is stored; values are computed when read, at the speed of memory (weights_bench).
std::unique_ptr<WeightSource> random_weights(const ModelConfig& config, uint64_t seed);

}  // namespace reprise::model
