// Computes states of a schema's tokens: one pass, and what is kept of it as segments.
#pragma once

#include <cstdint>
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
  int32_t step_tokens = 512;  // rows computed at once
  // On another device than the CPU: the most that states may take of its memory between prompts.
  // What is beyond that is copied from the host for each prompt.
  int64_t device_bytes = 0;
};

// Tokens at positions that rise, consecutive or not.
struct PlacedTokens {
  std::vector<int32_t> tokens, positions;
};

// Keys and values of `tokens` tokens of a model.
kv::SegmentShape state_shape(const model::ModelConfig& config, int64_t tokens, DType kv_dtype);

// Of all units together.
int64_t state_bytes(const Encoding& encoding, const model::ModelConfig& config, DType kv_dtype);

PlacedTokens placed_tokens(const pml::CompiledSchema& schema, std::span<const int32_t> pieces);

// States that are there already and that tokens from `from_token` on see.
struct SeenRun {
  StateRun run;
  int32_t from_token = 0;
};

// Keys and values of tokens that see one another causally, and `seen`. `policy` as in StepInput;
// layers it leaves out are zeros. Throws Error where the memory is not there, and as
// Decoder::forward() does.
kv::SegmentBuffer compute_states(model::Decoder& decoder, const PlacedTokens& placed,
                                 const EncodeOptions& options, std::span<const SeenRun> seen = {},
                                 model::LayerPolicy* policy = nullptr);

// The same where the model computes, for plans to read: on a device, in its memory.
std::shared_ptr<const SharedStates> compute_shared_states(model::Decoder& decoder,
                                                          const PlacedTokens& placed,
                                                          const EncodeOptions& options,
                                                          std::span<const SeenRun> seen);

// Of `from`, tokens [first, first + tokens) for each run, one behind the other: all layers and
// heads.
struct TokenRun {
  int32_t first = 0, tokens = 0;
};
kv::SegmentBuffer select_tokens(const kv::SegmentBuffer& from, std::span<const TokenRun> runs);

// The segments of pass.units, in their order.
std::vector<kv::SegmentBuffer> compute_pass(model::Decoder& decoder,
                                            const pml::CompiledSchema& schema,
                                            const Encoding& encoding, const EncodingPass& pass,
                                            const EncodeOptions& options);

}  // namespace reprise::prompt_cache
