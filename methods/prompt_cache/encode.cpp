#include "methods/prompt_cache/encode.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/reuse/plan_builder.h"
#include "core/store/device_segment.h"

namespace reprise::prompt_cache {

kv::SegmentShape state_shape(const model::ModelConfig& config, int64_t tokens, DType kv_dtype) {
  return {.layers = config.layers,
          .kv_heads = config.kv_heads,
          .tokens = tokens,
          .head_dim = config.head_dim,
          .dtype = kv_dtype};
}

int64_t state_bytes(const Encoding& encoding, const model::ModelConfig& config, DType kv_dtype) {
  int64_t tokens = 0;
  for (const StateUnit& unit : encoding.units) tokens += unit.tokens;
  return state_shape(config, tokens, kv_dtype).bytes();
}

PlacedTokens placed_tokens(const pml::CompiledSchema& schema, std::span<const int32_t> pieces) {
  PlacedTokens placed;
  for (const int32_t index : pieces) {
    const pml::Piece& piece = schema.pieces[static_cast<size_t>(index)];
    for (size_t i = 0; i < piece.tokens.size(); ++i) {
      placed.tokens.push_back(piece.tokens[i]);
      placed.positions.push_back(static_cast<int32_t>(piece.first) + static_cast<int32_t>(i));
    }
  }
  return placed;
}

namespace {

// Adds work items over the states in `seen` for the rows of a step that see them. The step's first
// row is token `first` of the tokens to compute.
void append_seen(std::span<const SeenRun> seen, int32_t first, kv::AttentionPlan& plan) {
  const SharedStates* last = nullptr;
  int32_t cache = 0;
  for (const SeenRun& one : seen) {
    const int32_t first_row = std::max(0, one.from_token - first);
    if (first_row >= plan.rows()) continue;
    if (one.run.states.get() != last) cache = plan.add_cache(one.run.states->view);
    last = one.run.states.get();
    plan.add_item(
        {.segment = add_run(one.run, cache, plan), .first_row = first_row, .end_row = plan.rows()});
  }
}

// Computes keys and values of the tokens into `states`, in the memory of the device that computes.
void compute_into(const kv::CacheView& states, model::Decoder& decoder, const PlacedTokens& placed,
                  const EncodeOptions& options, std::span<const SeenRun> seen,
                  model::LayerPolicy* policy) {
  const model::ModelConfig& config = decoder.config();
  const auto tokens = static_cast<int32_t>(placed.tokens.size());
  kv::AttentionPlan plan;
  for (int32_t first = 0; first < tokens; first += options.step_tokens) {
    if (options.between) options.between();
    const reuse::StepSequence part{.rows = std::min(options.step_tokens, tokens - first),
                                   .first_token = first,
                                   .positions = placed.positions,
                                   .length = placed.positions.back() + 1};
    plan.begin(states);
    reuse::append_rows(part, plan);
    for (int32_t row = 0; row < part.rows; ++row)
      plan.row_slots[static_cast<size_t>(row)] = (first + row) * config.head_dim;
    reuse::append_contiguous_reads(part, 0, plan);
    append_seen(seen, first, plan);
    plan.finish();
    decoder.forward(
        {.ids = std::span(placed.tokens)
                    .subspan(static_cast<size_t>(first), static_cast<size_t>(part.rows)),
         .plan = plan,
         .policy = policy},
        {});
  }
}

kv::SegmentShape shape_of(const model::Decoder& decoder, const PlacedTokens& placed,
                          const EncodeOptions& options) {
  return state_shape(decoder.config(), std::ssize(placed.tokens), options.kv_dtype);
}

std::shared_ptr<kv::DeviceSegment> compute_on_device(model::Decoder& decoder,
                                                     const PlacedTokens& placed,
                                                     const EncodeOptions& options,
                                                     std::span<const SeenRun> seen,
                                                     model::LayerPolicy* policy) {
  auto states =
      std::make_shared<kv::DeviceSegment>(decoder.runtime(), shape_of(decoder, placed, options));
  compute_into(states->view(), decoder, placed, options, seen, policy);
  return states;
}

}  // namespace

kv::SegmentBuffer compute_states(model::Decoder& decoder, const PlacedTokens& placed,
                                 const EncodeOptions& options, std::span<const SeenRun> seen,
                                 model::LayerPolicy* policy) {
  if (decoder.runtime() != nullptr)
    return compute_on_device(decoder, placed, options, seen, policy)->to_host();
  kv::SegmentBuffer states(shape_of(decoder, placed, options));
  compute_into(states.view(), decoder, placed, options, seen, policy);
  return states;
}

std::shared_ptr<const SharedStates> compute_shared_states(model::Decoder& decoder,
                                                          const PlacedTokens& placed,
                                                          const EncodeOptions& options,
                                                          std::span<const SeenRun> seen) {
  if (decoder.runtime() == nullptr) {
    const auto states =
        std::make_shared<const kv::SegmentBuffer>(compute_states(decoder, placed, options, seen));
    return std::make_shared<const SharedStates>(
        SharedStates{.view = states->view(), .owner = states});
  }
  const auto states = compute_on_device(decoder, placed, options, seen, /*policy=*/nullptr);
  return std::make_shared<const SharedStates>(
      SharedStates{.view = states->view(), .owner = states, .arriving = states.get()});
}

kv::SegmentBuffer select_tokens(const kv::SegmentBuffer& from, std::span<const TokenRun> runs) {
  kv::SegmentShape shape = from.shape;
  shape.tokens = 0;
  for (const TokenRun& run : runs) shape.tokens += run.tokens;
  kv::SegmentBuffer out(shape);
  const size_t token_bytes = static_cast<size_t>(shape.head_dim) * size_of(shape.dtype);
  const auto copy = [&](const AlignedBuffer& source, AlignedBuffer& target) {
    const auto* read = static_cast<const std::byte*>(source.data());
    auto* write = static_cast<std::byte*>(target.data());
    for (int64_t head = 0; head < shape.layers * shape.kv_heads; ++head) {
      const std::byte* of_head = read + static_cast<size_t>(head * from.shape.tokens) * token_bytes;
      for (const TokenRun& run : runs) {
        const size_t bytes = static_cast<size_t>(run.tokens) * token_bytes;
        std::memcpy(write, of_head + static_cast<size_t>(run.first) * token_bytes, bytes);
        write += bytes;
      }
    }
  };
  copy(from.keys, out.keys);
  copy(from.values, out.values);
  return out;
}

std::vector<kv::SegmentBuffer> compute_pass(model::Decoder& decoder,
                                            const pml::CompiledSchema& schema,
                                            const Encoding& encoding, const EncodingPass& pass,
                                            const EncodeOptions& options) {
  const kv::SegmentBuffer whole =
      compute_states(decoder, placed_tokens(schema, pass.pieces), options);
  // For each piece, the index of its first token in the pass.
  std::vector<int32_t> firsts(schema.pieces.size(), -1);
  int32_t tokens = 0;
  for (const int32_t index : pass.pieces) {
    firsts[static_cast<size_t>(index)] = tokens;
    tokens += static_cast<int32_t>(schema.pieces[static_cast<size_t>(index)].tokens.size());
  }
  std::vector<kv::SegmentBuffer> segments;
  for (const int32_t unit : pass.units) {
    std::vector<TokenRun> runs;
    for (const int32_t index : encoding.units[static_cast<size_t>(unit)].pieces)
      runs.push_back({.first = firsts[static_cast<size_t>(index)],
                      .tokens = static_cast<int32_t>(
                          schema.pieces[static_cast<size_t>(index)].tokens.size())});
    segments.push_back(select_tokens(whole, runs));
  }
  return segments;
}

}  // namespace reprise::prompt_cache
