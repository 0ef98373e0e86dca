// Judges whether two tokens nearly tie, so that rounding alone may choose between them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/model/network/decoder.h"

namespace reprise::experiments {

// Greedy runs in a rounded dtype diverge where rounding decides between two tokens. Each logit is
// off its f32 value by at most D, the largest deviation of the model in that dtype from the model
// in f32 over the same text. So the f32 logits of the two tokens differ by at most 2 D.
struct NearTie {
  double gap = 0;        // |difference| of the two tokens' f32 logits
  double deviation = 0;  // D: the largest over all tokens of the text and the vocabulary

  // gap / (2 D). Finite even if nothing deviates, and then far above any bound.
  [[nodiscard]] double ratio() const;
};

// A divergence up to this ratio is explained by rounding. D is measured with one set of roundings,
// and the largest error varies by up to half between sets, for example between methods that add in
// other orders.
inline constexpr double kMostTieRatio = 1.5;

class NearTieJudge {
 public:
  // Both decoders are of one model, `exact` in f32 (CHECK), and must outlive the judge. `rounded`
  // keeps keys and values as `kv_dtype`. A text is computed in chunks of `chunk` tokens, by
  // `rounded` in chunks of `rounded_chunk` (0: `chunk`), which must divide `chunk`. One decoder in
  // f32 may be both if the chunks differ: its sums are then taken in two orders.
  NearTieJudge(model::Decoder& exact, model::Decoder& rounded, DType kv_dtype, int32_t chunk,
               int32_t rounded_chunk = 0);

  // Judges the tokens `a` and `b` as continuations of `text`, which must not be empty. Each text is
  // computed once.
  NearTie judge(const std::vector<int32_t>& text, int32_t a, int32_t b);

 private:
  struct Continuation {
    std::vector<float> logits;  // [vocab] after the text, in f32
    double deviation = 0;
  };
  const Continuation& continuation_of(const std::vector<int32_t>& text);

  model::Decoder& exact_;
  model::Decoder& rounded_;
  DType kv_dtype_;
  int32_t chunk_, rounded_chunk_;
  std::map<std::vector<int32_t>, Continuation> continuations_;
};

}  // namespace reprise::experiments
