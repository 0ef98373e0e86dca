#include "experiments/kinds/shared/near_tie.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/engine/engine.h"
#include "core/reuse/block_per_sequence.h"

namespace reprise::experiments {
namespace {

// Computes a text with a decoder and a contiguous cache, with the logits of every token.
class TextRun {
 public:
  TextRun(model::Decoder& decoder, std::span<const int32_t> text, DType kv_dtype, int32_t chunk)
      : engine_(Context::machine(), decoder, std::make_unique<reuse::ContiguousCache>(),
                {.limits = {.max_sequence_tokens = static_cast<int32_t>(text.size())},
                 .kv_dtype = kv_dtype,
                 .step_tokens = chunk}) {
    engine_.observe_logits([this](const engine::LogitsRow& row) {
      logits_.insert(logits_.end(), row.logits.begin(), row.logits.end());
    });
    engine_.submit({.id = 1,
                    .prompt = {text.begin(), text.end()},
                    .max_new_tokens = 0,
                    .logits = engine::LogitsMode::kAll});
  }

  [[nodiscard]] bool has_more() const { return engine_.has_work(); }
  // Logits [rows, vocab] of the next chunk of tokens, valid until the next call.
  std::span<const float> advance() {
    logits_.clear();
    engine::require_served(engine_.step().events);
    return logits_;
  }

 private:
  engine::Engine engine_;
  std::vector<float> logits_;
};

}  // namespace

double NearTie::ratio() const {
  return gap / std::max(2 * deviation, double{std::numeric_limits<float>::min()});
}

NearTieJudge::NearTieJudge(model::Decoder& exact, model::Decoder& rounded, DType kv_dtype,
                           int32_t chunk, int32_t rounded_chunk)
    : exact_(exact),
      rounded_(rounded),
      kv_dtype_(kv_dtype),
      chunk_(chunk),
      rounded_chunk_(rounded_chunk > 0 ? rounded_chunk : chunk) {
  REPRISE_CHECK(exact.dtype() == DType::kF32 && chunk > 0 && chunk % rounded_chunk_ == 0,
                "dtype {} chunks {} and {}", name_of(exact.dtype()), chunk, rounded_chunk_);
}

NearTie NearTieJudge::judge(const std::vector<int32_t>& text, int32_t a, int32_t b) {
  const Continuation& continuation = continuation_of(text);
  const double logit_a = continuation.logits.at(static_cast<size_t>(a));
  const double logit_b = continuation.logits.at(static_cast<size_t>(b));
  return {.gap = std::abs(logit_a - logit_b), .deviation = continuation.deviation};
}

const NearTieJudge::Continuation& NearTieJudge::continuation_of(const std::vector<int32_t>& text) {
  REPRISE_CHECK(!text.empty());
  if (const auto known = continuations_.find(text); known != continuations_.end())
    return known->second;
  TextRun exact(exact_, text, DType::kF32, chunk_);
  TextRun rounded(rounded_, text, kv_dtype_, rounded_chunk_);
  Continuation continuation;
  while (exact.has_more()) {
    const std::span<const float> want = exact.advance();
    for (size_t done = 0; done < want.size();) {
      for (const float got : rounded.advance())
        continuation.deviation =
            std::max(continuation.deviation, std::abs(double{got} - double{want[done++]}));
    }
    const auto vocab = static_cast<size_t>(exact_.config().vocab);
    continuation.logits.assign(want.end() - static_cast<std::ptrdiff_t>(vocab), want.end());
  }
  return continuations_.emplace(text, std::move(continuation)).first->second;
}

}  // namespace reprise::experiments
