// Computes the last hidden states of several texts at once, without padding and without a cache
// that outlasts the call.
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

// Which tokens' last hidden states are wanted. The last layer skips the rows of other tokens.
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

  // Sets hidden [wanted tokens, hidden] f32 to the last hidden states, text after text. A text's
  // tokens have positions 0, 1, ... and see only that text. In an encoder each token sees the whole
  // text, in a decoder only the tokens up to itself. An empty text has no states. Throws Error for
  // ids, token types and learned positions outside the model's tables.
  void encode(const EncodeStep& step, std::span<float> hidden);

  // Sets logits [texts, vocab] f32 to those of the token that follows each text. No text may be
  // empty (CHECK). Throws Error for a model without a head, and as encode() does.
  void next_logits(std::span<const EncoderText> texts, LayerPolicy* policy,
                   std::span<float> logits);

 private:
  void begin(std::span<const EncoderText> texts);
  void append(const EncoderText& text);
  void choose_rows(HiddenOf hidden_of);
  void make_room(int64_t tokens);

  Decoder& model_;
  // [kv_heads, tokens, head_dim]  of one layer; the next layer overwrites them
  Tensor keys_, values_;
  kv::AttentionPlan plan_;
  std::vector<int32_t> ids_, token_types_, rows_;
};

}  // namespace reprise::model
