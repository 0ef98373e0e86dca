// Texts through a bidirectional model at once: hidden states of every token, no cache that stays.
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

class Encoder {
 public:
  // `model` must outlive the encoder. Throws Error if it is causal: its tokens must not see later
  // ones.
  explicit Encoder(Decoder& model);

  // hidden [sum of tokens, hidden] f32: last hidden states, text after text. A text's tokens stand
  // at positions 0, 1, ... and see that text alone. Throws Error for ids, types and lengths that
  // the model does not have.
  void encode(std::span<const EncoderText> texts, std::span<float> hidden,
              LayerPolicy* policy = nullptr);

 private:
  void append(const EncoderText& text);
  void make_room(int64_t tokens);

  Decoder& model_;
  Tensor keys_, values_;  // [kv_heads, tokens, head_dim] of one layer: the next one needs no other
  kv::AttentionPlan plan_;
  std::vector<int32_t> ids_, token_types_, rows_;
};

}  // namespace reprise::model
