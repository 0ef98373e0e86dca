// The arithmetic and the memory traffic that a model's steps cannot do without: the numerators of
// every "fraction of the limit".
#pragma once

#include <cstdint>

#include "core/base/json.h"
#include "core/base/weight_format.h"
#include "core/model/config/config.h"
#include "experiments/framework/kind.h"

namespace reprise::experiments {

// Keys and values of one token, all layers.
[[nodiscard]] int64_t kv_bytes_per_token(const model::ModelConfig& config, DType kv_dtype);

// Weights that a step reads: all but the embedding table, of which a step reads a few rows (a tied
// table serves as the head and is read), and but those experts that none of its rows was routed to:
// `touched_experts` of all layers together were read (Decoder::touched_experts).
[[nodiscard]] int64_t streamed_weight_bytes(const model::ModelConfig& config,
                                            const WeightType& type, int64_t touched_experts);

// Floating-point operations of the matrix products of `rows` tokens, of which `heads` get logits: 2
// per weight and token, of experts those that a token passes.
[[nodiscard]] double product_flop(const model::ModelConfig& config, int64_t rows, int64_t heads);

// Floating-point operations of computing `tokens` positions after `first` cached ones, with logits
// for the last: 2 per weight and token (of experts, those that a token passes), and 4 * heads *
// head_dim per layer and visible (query, key) pair.
[[nodiscard]] double prefill_flop(const model::ModelConfig& config, int64_t first, int64_t tokens);

struct DecodeStep {
  int64_t batch = 1;            // sequences
  double context = 0;           // cached tokens of each
  int64_t shared = 0;           // first tokens that all of them have in common
  int64_t touched_experts = 0;  // of all layers; 0 where the model has none
};

// Bytes the step must read at least: the streamed weights once, and each distinct cached token
// once, at most the sliding window of each sequence. A method that reads shared tokens for every
// sequence reads more.
[[nodiscard]] double decode_bytes(const model::ModelConfig& config, const WeightType& type,
                                  DType kv_dtype, const DecodeStep& step);

// Floating-point operations of one decode step of `batch` sequences of `context` cached tokens: one
// position of each, with its logits. Sharing saves none of them.
[[nodiscard]] double decode_flop(const model::ModelConfig& config, int64_t batch, double context);

// What the machine can do at most, out of a record's machine facts; 0 where they lack it. Where a
// GPU computed it is the GPU's, of which products of 16 bits alone are measured.
[[nodiscard]] double gflop_limit(const Json& machine, DType dtype);  // bf16 has its own
[[nodiscard]] double dram_limit(const Json& machine);                // GB/s
// The rate of the memory that `bytes` per step come from: the last cache where they fit into it.
struct MemoryLimit {
  double gb_s = 0;
  const char* level = "dram";  // "dram", "l3"; a GPU's "device", "device_l2"
};
[[nodiscard]] MemoryLimit memory_limit(const Json& machine, double bytes);

// Weights, and one cache of `tokens` tokens.
[[nodiscard]] MemoryNeed memory_of_model(const model::ModelConfig& config, const WeightType& type,
                                         DType kv_dtype, int64_t tokens);

// Whether the model was trained to place a sequence of so many tokens. Other schemes than rotary
// extrapolate.
[[nodiscard]] bool can_place(const model::ModelConfig& config, int64_t sequence_tokens);

// Throws Error when a sequence of so many tokens is longer than the model was trained to place.
void check_positions(const model::ModelConfig& config, int64_t sequence_tokens);

}  // namespace reprise::experiments
