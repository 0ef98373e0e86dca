#include "core/engine/step_executor.h"

#include <algorithm>
#include <cmath>

#include "core/engine/on_device.h"

namespace reprise::engine {

void DecoderExecutor::execute(const StepWork& work, std::span<int32_t> tokens) {
  const bool is_elsewhere = decoder_.runtime() != nullptr;
  logits_.resize(work.logit_rows.size() * static_cast<size_t>(config().vocab));
  is_copied_ = !is_elsewhere;
  const bool is_asked = policy_ != nullptr && policy_->has_a_say();
  decoder_.forward({.ids = work.ids,
                    .plan = work.plan,
                    .logit_rows = work.logit_rows,
                    .policy = is_asked ? policy_.get() : nullptr},
                   {.logits = is_elsewhere ? std::span<float>() : std::span(logits_),
                    .leaves_logits = is_elsewhere});
  const auto needs_host = [](const TokenDraw& draw) { return draw.options->needs_host(); };
  if (is_elsewhere && std::none_of(work.draws.begin(), work.draws.end(), needs_host))
    return sample_on_device(work, tokens);
  sample_on_host(work.draws, tokens);
}

void DecoderExecutor::sample_on_host(std::span<const TokenDraw> draws, std::span<int32_t> tokens) {
  sampled_.clear();
  for (const TokenDraw& draw : draws)
    sampled_.push_back({.logits = logits(draw.wanted),
                        .options = draw.options,
                        .request = draw.request,
                        .index = draw.index,
                        .prompt = draw.prompt,
                        .generated = draw.generated});
  sample_rows(sampled_, tokens, context_);
}

void DecoderExecutor::sample_on_device(const StepWork& work, std::span<int32_t> tokens) {
  rules_.clear();
  for (const TokenDraw& draw : work.draws)
    rules_.push_back({.temperature = draw.options->temperature,
                      .top_p = draw.options->top_p,
                      .unit = draw_unit(*draw.options, draw.request, draw.index),
                      .row = draw.wanted,
                      .top_k = draw.options->top_k});
  kernels::SampleCall{.logits = decoder_.device_logits(),
                      .vocab = config().vocab,
                      .rules = rules_,
                      .tokens = tokens}
      .run(on_device(context_, decoder_.runtime()));
  for (size_t i = 0; i < work.draws.size(); ++i)
    if (tokens[i] == kernels::SampleCall::kNotANumber) report_bad_logits(work.draws[i]);
}

void DecoderExecutor::report_bad_logits(const TokenDraw& draw) const {
  const std::span<const float> row = logits(draw.wanted);
  const auto bad = std::find_if(row.begin(), row.end(), [](float x) { return std::isnan(x); });
  throw BadLogits(draw.request, static_cast<size_t>(bad - row.begin()));
}

std::span<const float> DecoderExecutor::logits(int32_t n) const {
  if (!is_copied_ && !logits_.empty())
    decoder_.runtime()->copy_out(logits_.data(), decoder_.device_logits(),
                                 logits_.size() * sizeof(float));
  is_copied_ = true;
  const auto vocab = static_cast<size_t>(config().vocab);
  return std::span(logits_).subspan(static_cast<size_t>(n) * vocab, vocab);
}

}  // namespace reprise::engine
