#include "core/engine/step_executor.h"

namespace reprise::engine {

void DecoderExecutor::execute(const StepWork& work, std::span<int32_t> tokens) {
  logits_.resize(work.logit_rows.size() * static_cast<size_t>(config().vocab));
  decoder_.forward(
      {.ids = work.ids, .plan = work.plan, .logit_rows = work.logit_rows, .policy = policy_.get()},
      {.logits = logits_});
  sampled_.clear();
  for (const TokenDraw& draw : work.draws)
    sampled_.push_back({.logits = logits(draw.wanted),
                        .options = draw.options,
                        .request = draw.request,
                        .index = draw.index});
  sample_rows(sampled_, tokens, context_);
}

std::span<const float> DecoderExecutor::logits(int32_t n) const {
  const auto vocab = static_cast<size_t>(config().vocab);
  return std::span(logits_).subspan(static_cast<size_t>(n) * vocab, vocab);
}

}  // namespace reprise::engine
