#include "experiments/kinds/near_tie.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/error.h"
#include "core/kv/block_pool.h"
#include "core/reuse/plan_builder.h"

namespace reprise::experiments {
namespace {

// One text through a decoder over a contiguous cache, logits of every token.
class TextRun {
 public:
  TextRun(model::Decoder& decoder, std::span<const int32_t> text, DType kv_dtype)
      : decoder_(decoder),
        text_(text),
        positions_(text.size()),
        pool_({.layers = decoder.config().layers,
               .kv_heads = decoder.config().kv_heads,
               .head_dim = decoder.config().head_dim,
               .dtype = kv_dtype,
               .block_tokens = static_cast<int32_t>(text.size()),
               .num_blocks = 1}) {
    std::iota(positions_.begin(), positions_.end(), 0);
  }

  // Logits [rows, vocab] of the next `rows` tokens, valid until the next call.
  std::span<const float> advance(int32_t rows) {
    const reuse::StepSequence part{.id = 0,
                                   .first_row = 0,
                                   .rows = rows,
                                   .first_token = computed_,
                                   .positions = positions_,
                                   .tokens = text_};
    plan_.clear();
    plan_.cache = pool_.view();
    reuse::append_rows(part, plan_, [&](int32_t token) { return pool_.offset_of(0, token); });
    reuse::append_contiguous_reads(part, pool_.offset_of(0), plan_);
    plan_.finish();
    wanted_.resize(static_cast<size_t>(rows));
    std::iota(wanted_.begin(), wanted_.end(), 0);
    logits_.resize(wanted_.size() * static_cast<size_t>(decoder_.config().vocab));
    decoder_.forward({.ids = text_.subspan(static_cast<size_t>(computed_), wanted_.size()),
                      .plan = plan_,
                      .logit_rows = wanted_},
                     {.logits = logits_});
    computed_ += rows;
    return logits_;
  }

 private:
  model::Decoder& decoder_;
  std::span<const int32_t> text_;
  std::vector<int32_t> positions_;
  kv::BlockPool pool_;
  kv::AttentionPlan plan_;
  std::vector<int32_t> wanted_;
  std::vector<float> logits_;
  int32_t computed_ = 0;
};

}  // namespace

double NearTie::ratio() const {
  return gap / std::max(2 * deviation, double{std::numeric_limits<float>::min()});
}

NearTieJudge::NearTieJudge(model::Decoder& exact, model::Decoder& rounded, DType kv_dtype,
                           int32_t chunk)
    : exact_(exact), rounded_(rounded), kv_dtype_(kv_dtype), chunk_(chunk) {
  REPRISE_CHECK(exact.dtype() == DType::kF32 && chunk > 0, "dtype {} chunk {}",
                name_of(exact.dtype()), chunk);
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
  TextRun exact(exact_, text, DType::kF32), rounded(rounded_, text, kv_dtype_);
  Continuation continuation;
  const auto tokens = static_cast<int32_t>(text.size());
  for (int32_t first = 0; first < tokens; first += chunk_) {
    const int32_t rows = std::min(chunk_, tokens - first);
    const std::span<const float> want = exact.advance(rows), got = rounded.advance(rows);
    for (size_t i = 0; i < want.size(); ++i)
      continuation.deviation =
          std::max(continuation.deviation, std::abs(double{got[i]} - double{want[i]}));
    const auto vocab = static_cast<size_t>(exact_.config().vocab);
    continuation.logits.assign(want.end() - static_cast<std::ptrdiff_t>(vocab), want.end());
  }
  return continuations_.emplace(text, std::move(continuation)).first->second;
}

}  // namespace reprise::experiments
