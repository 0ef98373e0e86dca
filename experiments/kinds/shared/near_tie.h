// Whether two tokens were so near a tie that rounding alone may choose between them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/model/network/decoder.h"

namespace reprise::experiments {

// Greedy runs in a rounded dtype part where the better token of one is the better of the other but
// for rounding. Each of their logits is off its f32 value by at most D, the largest deviation that
// the model in that dtype has from the same model in f32 over this very text; so the f32 logits of
// the two tokens differ by at most 2 D.
struct NearTie {
  double gap = 0;        // between the two tokens' f32 logits
  double deviation = 0;  // D, over every token of the text and the whole vocabulary

  // gap / (2 D); finite, and far above any bound where nothing deviates.
  [[nodiscard]] double ratio() const;
};

// Up to this ratio a divergence is explained by rounding: D is measured on one set of roundings,
// and the largest error varies by up to half from one set to the next, such as those of methods
// that add in other orders.
inline constexpr double kMostTieRatio = 1.5;

class NearTieJudge {
 public:
  // Both decoders are of one model and must outlive the judge. `rounded` keeps keys and values as
  // `kv_dtype`; at most `chunk` tokens of a text are computed at once, by `rounded` at most
  // `rounded_chunk`, which divides it (0: as many). One decoder in f32 may be both where they
  // differ: sums are then taken in two orders.
  NearTieJudge(model::Decoder& exact, model::Decoder& rounded, DType kv_dtype, int32_t chunk,
               int32_t rounded_chunk = 0);

  // How near a tie the tokens `a` and `b` are as continuations of `text` (not empty). Each text is
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
