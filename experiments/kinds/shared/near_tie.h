// Judges whether two tokens nearly tie, so that rounding alone may choose between them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/model/network/decoder.h"

namespace reprise::experiments {

// Two greedy runs in a rounded dtype diverge at a token if rounding decides between two candidates.
// Let D be the largest deviation, over the same text, of a logit in that dtype from the logit in
// f32. Rounding can only decide if the f32 logits of the two tokens differ by at most 2 D.
struct NearTie {
  double gap = 0;        // |difference| of the two tokens' f32 logits
  double deviation = 0;  // D: the maximum over all tokens of the text and of the vocabulary

  // gap / (2 D). If D is 0, the ratio is still finite, but far above any bound.
  [[nodiscard]] double ratio() const;
};

// Largest NearTie::ratio() at which rounding explains a divergence. It is above 1, since D is
// measured with one order of additions, and the largest rounding error varies by up to half between
// methods that add in different orders.
inline constexpr double kMostTieRatio = 1.5;

class NearTieJudge {
 public:
  // `exact` and `rounded` are decoders of one model and must outlive the judge; `exact` is in f32
  // (CHECK). `rounded` keeps keys and values as `kv_dtype`. `exact` computes a text in chunks of
  // `chunk` tokens. `rounded` computes it in chunks of `rounded_chunk` tokens (0: `chunk`), which
  // must divide `chunk`. If the chunks differ, both may be the same decoder in f32: then D comes
  // from the different order of its sums.
  NearTieJudge(model::Decoder& exact, model::Decoder& rounded, DType kv_dtype, int32_t chunk,
               int32_t rounded_chunk = 0);

  // Judges the tokens `a` and `b` as continuations of `text`, which must not be empty. A text that
  // was judged before is not computed again.
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
