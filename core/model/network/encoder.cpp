#include "core/model/network/encoder.h"

#include <algorithm>

#include "core/base/error.h"

namespace reprise::model {
namespace {

// Returns the dtype of keys and values. On a device it must have 16 bits. For f32 activations f16
// is taken, because f16 rounds less than bf16.
DType scratch_dtype(const Decoder& model) {
  return model.runtime() != nullptr && model.dtype() == DType::kF32 ? DType::kF16 : model.dtype();
}

}  // namespace

void Encoder::encode(const EncodeStep& step, std::span<float> hidden) {
  begin(step.texts);
  choose_rows(step.hidden_of);
  model_.forward({.ids = ids_,
                  .plan = plan_,
                  .hidden_rows = rows_,
                  .token_types = token_types_,
                  .policy = step.policy},
                 {.hidden = hidden});
}

void Encoder::next_logits(std::span<const EncoderText> texts, LayerPolicy* policy,
                          std::span<float> logits) {
  begin(texts);
  choose_rows(HiddenOf::kLastToken);
  REPRISE_CHECK(rows_.size() == texts.size(), "{} of {} texts have tokens", rows_.size(),
                texts.size());
  model_.forward({.ids = ids_,
                  .plan = plan_,
                  .logit_rows = rows_,
                  .token_types = token_types_,
                  .policy = policy},
                 {.logits = logits});
}

// Builds the plan and the ids of the step that computes `texts`.
void Encoder::begin(std::span<const EncoderText> texts) {
  plan_.clear();
  ids_.clear();
  token_types_.clear();
  int64_t tokens = 0;
  for (const EncoderText& text : texts) tokens += static_cast<int64_t>(text.ids.size());
  make_room(tokens);
  for (const EncoderText& text : texts)
    if (!text.ids.empty()) append(text);
  plan_.finish();
}

void Encoder::choose_rows(HiddenOf hidden_of) {
  rows_.clear();
  for (const kv::WorkItem& text : plan_.items) switch (hidden_of) {
      case HiddenOf::kEveryToken:
        for (int32_t row = text.first_row; row < text.end_row; ++row) rows_.push_back(row);
        break;
      case HiddenOf::kFirstToken:
        rows_.push_back(text.first_row);
        break;
      case HiddenOf::kLastToken:
        rows_.push_back(text.end_row - 1);
        break;
    }
}

// Appends a text as one block of the scratch cache and one work item.
void Encoder::append(const EncoderText& text) {
  REPRISE_CHECK(text.token_types.empty() || text.token_types.size() == text.ids.size(),
                "{} token types for {} ids", text.token_types.size(), text.ids.size());
  const auto first = static_cast<int32_t>(ids_.size());
  const auto count = static_cast<int32_t>(text.ids.size());
  const int64_t head_dim = model_.config().head_dim;
  ids_.insert(ids_.end(), text.ids.begin(), text.ids.end());
  token_types_.insert(token_types_.end(), text.token_types.begin(), text.token_types.end());
  token_types_.resize(ids_.size(), 0);
  plan_.items.push_back({.segment = static_cast<int32_t>(plan_.segments.size()),
                         .first_row = first,
                         .end_row = first + count,
                         .mask = model_.config().is_causal ? kv::Mask::kCausal : kv::Mask::kNone,
                         .visible = 1});
  plan_.segments.push_back({.first_block = static_cast<int32_t>(plan_.block_offsets.size()),
                            .block_tokens = count,
                            .tokens = count});
  plan_.block_offsets.push_back(first * head_dim);
  for (int32_t t = 0; t < count; ++t) {
    plan_.row_positions.push_back(t);
    plan_.row_lengths.push_back(count);
    plan_.row_slots.push_back((first + t) * head_dim);
  }
}

void Encoder::make_room(int64_t tokens) {
  const ModelConfig& config = model_.config();
  if (keys_.empty() || keys_.shape()[1] < tokens) {
    const Shape shape = {config.kv_heads, std::max<int64_t>(tokens, 1), config.head_dim};
    keys_ = Tensor(scratch_dtype(model_), shape, model_.runtime());
    values_ = Tensor(scratch_dtype(model_), shape, model_.runtime());
  }
  plan_.caches = {{.keys = keys_.data(),
                   .values = values_.data(),
                   .dtype = keys_.dtype(),
                   .device = keys_.device(),
                   .layer_stride = 0,  // every layer overwrites the previous one
                   .head_stride = keys_.shape()[1] * config.head_dim,
                   .kv_heads = config.kv_heads,
                   .head_dim = config.head_dim}};
}

}  // namespace reprise::model
