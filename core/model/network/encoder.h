// Texts through a model at once, without padding: their last hidden states, no cache that stays.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/device/tensor.h"
#include "core/kv/plan.h"
#include "core/model/network/decoder.h"

namespace reprise::model {

struct EncoderText {
  std::span<const int32_t> ids;
  std::span<const int32_t> token_types;  // [ids], or empty: all 0
};

// Whose last hidden states are wanted. What the last layer computes for others is spared.
enum class HiddenOf : uint8_t { kEveryToken, kFirstToken, kLastToken };

struct EncodeStep {
  std::span<const EncoderText> texts;
  HiddenOf hidden_of = HiddenOf::kEveryToken;
  LayerPolicy* policy = nullptr;
};

class Encoder {
 public:
  // `model` must outlive the encoder.
  explicit Encoder(Decoder& model) : model_(model) {}

  // hidden [wanted tokens, hidden] f32: last hidden states, text after text. A text's tokens stand
  // at positions 0, 1, ... and see that text alone: all of it in an encoder, in a decoder what is
  // not behind them. A text without tokens has no states. Throws Error for ids, types and lengths
  // that the model does not have.
  void encode(const EncodeStep& step, std::span<float> hidden);

  // logits [texts, vocab] f32 of what follows each text, none of which is empty (CHECK). Throws
  // Error for a model that has no head, and as encode().
  void next_logits(std::span<const EncoderText> texts, LayerPolicy* policy,
                   std::span<float> logits);

 private:
  void begin(std::span<const EncoderText> texts);
  void append(const EncoderText& text);
  void choose_rows(HiddenOf hidden_of);
  void make_room(int64_t tokens);

  Decoder& model_;
  Tensor keys_, values_;  // [kv_heads, tokens, head_dim] of one layer: the next one needs no other
  kv::AttentionPlan plan_;
  std::vector<int32_t> ids_, token_types_, rows_;
};

}  // namespace reprise::model
