// Computes the key/value states of a schema's tokens in passes (encoding.h), and cuts the states
// into segments.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/model/network/decoder.h"
#include "core/store/segment_buffer.h"
#include "methods/prompt_cache/encoding.h"
#include "methods/prompt_cache/imports.h"

namespace reprise::prompt_cache {

struct EncodeOptions {
  DType kv_dtype = DType::kF32;
  int32_t step_tokens = 512;  // rows computed in one step
  // For models on a device: upper bound on the device memory that states occupy between prompts.
  // Other states are copied from the host for each prompt.
  int64_t device_bytes = 0;
  // Used if the store's folder is read-only or full. true: states that it cannot take stay in
  // memory as long as the ModuleStates lives, and damaged states that cannot be removed from it are
  // ignored. false: this is an error.
  bool keeps_unwritten = false;
  // Called before each step; may throw, which ends the computation. Empty: nothing is called.
  std::function<void()> between = {};
};

// Tokens at ascending positions, which may have gaps.
struct PlacedTokens {
  std::vector<int32_t> tokens, positions;
};

// The shape of the keys and values of `tokens` tokens of a model.
kv::SegmentShape state_shape(const model::ModelConfig& config, int64_t tokens, DType kv_dtype);

// Bytes of the states of all units of an encoding.
int64_t state_bytes(const Encoding& encoding, const model::ModelConfig& config, DType kv_dtype);

PlacedTokens placed_tokens(const pml::CompiledSchema& schema, std::span<const int32_t> pieces);

// Existing states that some of the tokens to compute see: those from index `from_token` on.
struct SeenRun {
  StateRun run;
  int32_t from_token = 0;
};

// Computes the keys and values of `placed`. These tokens see the states in `seen`, and see each
// other causally. `policy` is passed to the decoder (see StepInput); the states of layers that it
// skips are zeros. Throws Error if there is not enough memory, and as Decoder::forward().
kv::SegmentBuffer compute_states(model::Decoder& decoder, const PlacedTokens& placed,
                                 const EncodeOptions& options, std::span<const SeenRun> seen = {},
                                 model::LayerPolicy* policy = nullptr);

// Like compute_states(), but returns states that plans can read. If `decoder` runs on a device, the
// states stay in the device's memory.
std::shared_ptr<const SharedStates> compute_shared_states(model::Decoder& decoder,
                                                          const PlacedTokens& placed,
                                                          const EncodeOptions& options,
                                                          std::span<const SeenRun> seen);

// Tokens [first, first + tokens). select_tokens() copies the tokens of each run, one run after
// another, for all layers and heads.
struct TokenRun {
  int32_t first = 0, tokens = 0;
};
kv::SegmentBuffer select_tokens(const kv::SegmentBuffer& from, std::span<const TokenRun> runs);

// Computes a pass and returns the segments of pass.units, in their order.
std::vector<kv::SegmentBuffer> compute_pass(model::Decoder& decoder,
                                            const pml::CompiledSchema& schema,
                                            const Encoding& encoding, const EncodingPass& pass,
                                            const EncodeOptions& options);

}  // namespace reprise::prompt_cache
