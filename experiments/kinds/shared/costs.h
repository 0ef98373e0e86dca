// The least arithmetic and memory traffic of a model's steps: the numerators of every "fraction of
// the limit".
#pragma once

#include <cstdint>

#include "core/base/json.h"
#include "core/base/weight_format.h"
#include "core/model/config/config.h"
#include "experiments/framework/kind.h"

namespace reprise::experiments {

// Bytes of the keys and values of one token in all layers.
[[nodiscard]] int64_t kv_bytes_per_token(const model::ModelConfig& config, DType kv_dtype);

// Bytes of the weights that a step reads. The embedding table is left out, since a step reads few
// of its rows; a tied one is also the head and counts. Of the routed experts of all layers
// together, only `touched_experts` count (Decoder::touched_experts).
[[nodiscard]] int64_t streamed_weight_bytes(const model::ModelConfig& config,
                                            const WeightType& type, int64_t touched_experts);

// Floating-point operations of the matrix products of a step of `rows` tokens: 2 per weight and
// token. The output head is computed for only `logit_rows` of the tokens; of the last layer, other
// tokens need keys and values alone. A layer counts only as many routed experts as one token is
// sent to.
[[nodiscard]] double product_flop(const model::ModelConfig& config, int64_t rows,
                                  int64_t logit_rows);

// Floating-point operations of a prefill of `tokens` positions behind `first` cached positions,
// with logits for the last position: product_flop(), and 4 * heads * head_dim per layer and visible
// (query, key) pair. In the last layer, only the last position is a query.
[[nodiscard]] double prefill_flop(const model::ModelConfig& config, int64_t first, int64_t tokens);

struct DecodeStep {
  int64_t batch = 1;            // sequences
  double context = 0;           // cached tokens of each
  int64_t shared = 0;           // first tokens that all sequences have in common
  int64_t touched_experts = 0;  // sum over all layers; 0 if the model has none
};

// The least bytes that the step must read: streamed_weight_bytes(), and the keys and values of each
// distinct cached token once. With a sliding window, only tokens in the window count. A method that
// reads shared tokens once per sequence reads more.
[[nodiscard]] double decode_bytes(const model::ModelConfig& config, const WeightType& type,
                                  DType kv_dtype, const DecodeStep& step);

// Floating-point operations of one decode step of `batch` sequences with `context` cached tokens
// each, including the logits. Tokens that sequences share do not reduce this number.
[[nodiscard]] double decode_flop(const model::ModelConfig& config, int64_t batch, double context);

// Limits of the machine, or of its GPU if `machine` has one, as measured for a record. Return 0 if
// the limit was not measured: a GPU has no gflop_limit() for f32.
[[nodiscard]] double gflop_limit(const Machine& machine, DType dtype);  // bf16 has its own limit
[[nodiscard]] double dram_limit(const Machine& machine);                // GB/s
// The read rate of the memory that holds the `bytes` of one step: the last-level cache if they fit
// into it, otherwise DRAM or device memory.
struct MemoryLimit {
  double gb_s = 0;
  const char* level = "dram";  // "dram", "l3"; a GPU's "device", "device_l2"
};
[[nodiscard]] MemoryLimit memory_limit(const Machine& machine, double bytes);

// Memory of the weights and of one cache of `tokens` tokens.
[[nodiscard]] MemoryNeed memory_of_model(const model::ModelConfig& config, const WeightType& type,
                                         DType kv_dtype, int64_t tokens);

// True if the model has positions for a sequence of `sequence_tokens` tokens. There is no limit for
// ALiBi and for models without positions (ModelConfig::position_limit()).
[[nodiscard]] bool can_place(const model::ModelConfig& config, int64_t sequence_tokens);

// Throws Error if can_place() is false.
void check_positions(const model::ModelConfig& config, int64_t sequence_tokens);

}  // namespace reprise::experiments
