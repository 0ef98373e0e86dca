// Where a model's weights come from: one canonical set of tensors, whatever the family and the file
// call them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/weight_format.h"
#include "core/model/config/config.h"

namespace reprise::model {

// What a canonical tensor is for. Matrices are row-major [out, in], as Hugging Face stores linear
// layers; a bias has one row of `out` elements, a norm one row of `hidden`. The order is part of
// what random weights are: append only. Which model has which, and what files call them, stands in
// tensor_table.cpp.
enum class Part : uint8_t {
  kEmbedding,  // [vocab, hidden]
  kNorm1,      // [1, hidden]  before attention; after it in post-norm blocks
  kNorm2,      // [1, hidden]  before the MLP; after it in post-norm blocks
  kQkv,        // [(heads + 2 * kv_heads) * head_dim, hidden]  all q heads, then all k, then all v
  kAttentionOut,   // [hidden, heads * head_dim]
  kUp,             // gated: [2 * intermediate, hidden], all gate rows then all up rows;
                   // else [intermediate, hidden]
  kDown,           // [hidden, intermediate]
  kFinalNorm,      // [1, hidden]
  kHead,           // [vocab, hidden]; its weight is absent where tied to the embedding
  kPositions,      // [max_positions + learned_offset, hidden]
  kTokenTypes,     // [token_types, hidden]
  kEmbeddingNorm,  // [1, hidden]
  kRouter,         // [experts, hidden]
  kExpertUp,       // [2 * experts.intermediate, hidden]  of each expert: gate rows, then up rows
  kExpertDown,     // [hidden, experts.intermediate]  of each expert
  kSharedUp,       // [2 * experts.shared_intermediate, hidden]  gate rows, then up rows
  kSharedDown,     // [hidden, experts.shared_intermediate]
  kSharedGate,     // [1, hidden]  of the sigmoid that scales the shared expert
  kRelativePositions,  // [2 * relative.span, hidden]
  kRelativeNorm,       // [1, hidden]  of its rows
  kPositionKey,     // [heads * head_dim, hidden]  of its rows, to what queries are multiplied with
  kPositionQuery,   // [heads * head_dim, hidden]  to what keys are multiplied with
  kConvolution,     // [hidden, hidden * convolution.kernel]  of an input all taps, then the next's
  kConvolutionNorm  // [1, hidden]
};
inline constexpr size_t kParts = static_cast<size_t>(Part::kConvolutionNorm) + 1;

enum class PartKind : uint8_t {
  kTable,   // rows are looked up
  kMatrix,  // of a linear layer
  kNorm     // a vector whose neutral value is 1
};
PartKind kind_of(Part part);

// One tensor of a model: the weight of a part or its bias.
struct Role {
  Part part = Part::kEmbedding;
  int64_t layer = -1;   // -1: not of a layer
  int64_t expert = -1;  // -1: not of an expert
  bool is_bias = false;
  auto operator<=>(const Role&) const = default;
};
std::string to_string(const Role& role);  // "up of layer 3", for messages

struct TensorSpec {
  Role role;
  int64_t rows = 0, cols = 0;
};

// Every tensor a model of this config has, in the order of a forward pass.
std::vector<TensorSpec> canonical_tensors(const ModelConfig& config);

// How a part is held in a model whose matrices are of `type`. Codes are for the matrices of its
// layers: embedding and head stay plain, in the dtype of the inputs [as bitsandbytes and
// optimum-quanto leave them], and so do routers and the shared experts' gates, which are small and
// decide where a token goes [DeepSeek's router is no linear layer to either].
WeightType held_type(Part part, const WeightType& type);
// Bytes of all weights of such a model, without what pads them. Tied ones count once.
int64_t weight_bytes(const ModelConfig& config, const WeightType& type);

class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // Writes rows [first_row, end_row) of the tensor, converted to `dtype`, row-major into `out`.
  // May be called from several threads at once.
  virtual void read_rows(const TensorSpec& tensor, int64_t first_row, int64_t end_row, DType dtype,
                         void* out) const = 0;
  // The tensor will not be read again soon: its pages may leave memory.
  virtual void release(const TensorSpec& tensor) const = 0;
};

// Corrects `config` where a folder's tensors and its config.json legitimately disagree, which is in
// MPT alone: transformers builds that family without biases and with an MLP of 4 * hidden, whatever
// no_bias and expansion_ratio say, and saves both keys as they were given. The original trainer's
// files hold what the keys say.
void adapt_to_checkpoint(const std::filesystem::path& dir, ModelConfig& config);

// A folder with model.safetensors, or shards with model.safetensors.index.json, memory-mapped.
// Every expected tensor must be there with its shape, and nothing else may be; throws Error naming
// file and tensor otherwise.
std::unique_ptr<WeightSource> open_checkpoint(const std::filesystem::path& dir,
                                              const ModelConfig& config);

// Seeded weights for timing and tests: element i (row-major) of a tensor depends on (seed, role,
// i) alone, not on threads, row ranges or instruction set. Each value is a bfloat16 number,
// uniform around 0, and f32 holds the same number (f16 too, but for rounding below 2^-17), so one
// seed is one model in every dtype.
//   matrices           standard deviation 1 / sqrt(cols), largest magnitude sqrt(3 / cols)
//   tables             standard deviation 1
//   norm weights       exactly 1
//   biases             standard deviation 0.02
// Nothing is stored; values are computed when read, at the speed of memory (random_weights_bench).
std::unique_ptr<WeightSource> random_weights(const ModelConfig& config, uint64_t seed);

}  // namespace reprise::model
