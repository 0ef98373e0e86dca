#include "experiments/kinds/sentences/prefill_lane.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/error.h"
#include "experiments/kinds/sentences/reuse_bound.h"
#include "experiments/kinds/shared/bench.h"
#include "experiments/kinds/shared/method_report.h"
#include "methods/prompt_setup.h"
#include "methods/registry.h"

namespace reprise::experiments {
namespace {

const MetricInfo kTextMs = {"text_ms", "ms", "computing all texts, over their number"};
const MetricInfo kTokensPerS = {"tokens_per_s", "tokens/s", "of all texts, over the same time"};
const MetricInfo kTextSpeedup = {"text_speedup", "ratio",
                                 "the first method's time per text over this one's"};
const MetricInfo kSpeedupHits = {"text_speedup_hits", "ratio",
                                 "the same over texts that hit; of one text a step"};
const MetricInfo kTexts = {"texts", "texts", "that were computed in each repetition"};
const MetricInfo kHitRate = {"hit_rate", "ratio",
                             "of texts x layers, those computed with stored maps"};
const MetricInfo kAttentionMs = {
    "attention_ms", "ms",
    "per text: from the input norm to the output projection, without retrieval and loading"};
const MetricInfo kFeedForwardMs = {"feed_forward_ms", "ms", "per text: the rest of the layers"};
const MetricInfo kAttentionSpeedup = {
    "attention_speedup", "ratio",
    "the first method's attention over this one's with retrieval and loading"};
const MetricInfo kAttentionSpeedupHits = {"attention_speedup_hits", "ratio",
                                          "the same over texts that hit; of one text a step"};
const MetricInfo kAttentionBound = {
    "attention_bound", "ratio",
    "the most that attention_speedup_hits can be: the products that a hit leaves out are free"};
const MetricInfo kTextBound = {"text_bound", "ratio", "the same of text_speedup_hits"};

const MetricInfo kQueriesMs = {"queries_ms", "ms",
                               "per text, if operations are apart: the product for queries"};
const MetricInfo kKeysMs = {"keys_ms", "ms", "the same for keys"};
const MetricInfo kRotaryMs = {"rotary_ms", "ms", "the same: rotating queries and keys"};
const MetricInfo kValuesMs = {"values_ms", "ms", "the same: the product for values"};
const MetricInfo kMapMs = {
    "map_ms", "ms",
    "the same: scores and softmax, of methods that compute a map before they use it"};
const MetricInfo kRestMs = {"attention_rest_ms", "ms",
                            "the same: the rest of attention_ms, such as map times values and the "
                            "output projection; without map_ms also scores and softmax"};

std::vector<double> quotients(const std::vector<double>& of, const std::vector<double>& by) {
  std::vector<double> out;
  for (size_t i = 0; i < of.size(); ++i) out.push_back(of[i] / by[i]);
  return out;
}

std::vector<double> scaled(std::vector<double> values, double factor) {
  for (double& value : values) value *= factor;
  return values;
}

}  // namespace

std::vector<MetricInfo> prefill_lane_metrics() {
  std::vector<MetricInfo> all = {
      kTextMs,         kTokensPerS,  kTextSpeedup,   kSpeedupHits,      kTexts,
      kHitRate,        kAttentionMs, kFeedForwardMs, kAttentionSpeedup, kAttentionSpeedupHits,
      kAttentionBound, kTextBound};
  add_method_metrics(MethodUse::kPrefill, /*takes_turns=*/true, all);
  return all;
}

std::vector<MetricInfo> operation_metrics() {
  return {kQueriesMs, kKeysMs, kRotaryMs, kValuesMs, kMapMs, kRestMs};
}

std::string missing_for(const MethodChoice& method) {
  return methods::make_method(method.name, method.options)->missing();
}

PrefillLane::PrefillLane(const MethodChoice& method, const methods::Setup& setup,
                         int64_t repetitions)
    : method_(methods::make_method(method.name, method.options)), taking_(repetitions) {
  method_->prepare(setup);
  methods::Parts parts = method_->parts();
  policy_ = std::move(parts.policy);
  shaper_ = std::move(parts.shaper);
  times_ = std::make_unique<model::LayerTimes>(setup.config.layers, policy_.get(),
                                               model::device_clock(setup.runtime));
}

std::vector<int32_t> PrefillLane::formed(std::vector<int32_t> ids) const {
  return methods::shaped_prompt(shaper_.get(), std::move(ids));
}

void PrefillLane::take(int64_t steps, bool is_warmup, const RunStep& run) {
  const auto turn = [&] {
    Turn taken;
    method_->begin_turn();
    for (int64_t step = 0; step < steps; ++step) taken.steps.push_back(take_step(step, run));
    taken.counts = method_->counts();
    return taken;
  };
  if (is_warmup)
    (void)turn();
  else
    turns_.push_back(taking_.take([] {}, turn));
}

void PrefillLane::take_operations(int64_t steps, const RunStep& run) {
  method_->begin_turn();
  times_->split_attention(true);
  Operations sum;
  for (int64_t step = 0; step < steps; ++step) {
    times_->reset();
    run(step, times_.get());
    for (const model::LayerTime& layer : times_->layers()) {
      sum.queries_ms += ms_of(layer.queries_ns);
      sum.keys_ms += ms_of(layer.keys_ns);
      sum.rotary_ms += ms_of(layer.rotary_ns);
      sum.values_ms += ms_of(layer.values_ns);
      sum.map_ms += ms_of(layer.map_ns);
      sum.rest_ms += ms_of(layer.attention_ns - layer.queries_ns - layer.keys_ns - layer.rotary_ns -
                           layer.values_ns - layer.map_ns);
    }
  }
  times_->split_attention(false);
  operations_.push_back(sum);
}

void PrefillLane::report_operations(double per_text, Measurement& out) const {
  const std::pair<const MetricInfo*, double Operations::*> parts[] = {
      {&kQueriesMs, &Operations::queries_ms}, {&kKeysMs, &Operations::keys_ms},
      {&kRotaryMs, &Operations::rotary_ms},   {&kValuesMs, &Operations::values_ms},
      {&kMapMs, &Operations::map_ms},         {&kRestMs, &Operations::rest_ms}};
  for (const auto& [metric, part] : parts) {
    std::vector<double> ms;
    for (const Operations& turn : operations_) ms.push_back(turn.*part * per_text);
    // An operation that the method or the model lacks takes no time.
    if (std::any_of(ms.begin(), ms.end(), [](double value) { return value > 0; }))
      out.sample(*metric, ms);
  }
}

PrefillLane::Step PrefillLane::take_step(int64_t index, const RunStep& run) {
  times_->reset();
  const int64_t reused_before = method_->counts().reused_layers;
  const int64_t begin_ns = now_ns();
  run(index, times_.get());
  Step step{.ms = ms_of(now_ns() - begin_ns)};
  for (const model::LayerTime& layer : times_->layers()) {
    step.attention_ms += ms_of(layer.choosing_ns + layer.attention_ns);
    step.feed_forward_ms += ms_of(layer.feed_forward_ns);
  }
  step.reused_layers = method_->counts().reused_layers - reused_before;
  return step;
}

std::vector<double> PrefillLane::sums(double Step::*part) const {
  std::vector<double> out;
  for (const Turn& turn : turns_) {
    double sum = 0;
    for (const Step& step : turn.steps) sum += step.*part;
    out.push_back(sum);
  }
  return out;
}

std::vector<double> PrefillLane::sums_of_hits(double Step::*part, const Turn& hits) const {
  std::vector<double> out;
  for (const Turn& turn : turns_) {
    double sum = 0;
    for (size_t i = 0; i < turn.steps.size(); ++i)
      if (hits.steps[i].reused_layers > 0) sum += turn.steps[i].*part;
    out.push_back(sum);
  }
  return out;
}

void PrefillLane::report(const PrefillLane& first, const Prompts& prompts, Measurement& out) const {
  REPRISE_CHECK(!turns_.empty() && first.turns_.size() == turns_.size(), "{} turns of {}",
                first.turns_.size(), turns_.size());
  taking_.add_to(out);
  const double per_text = 1.0 / static_cast<double>(prompts.tokens.size());
  const auto tokens = static_cast<double>(
      std::accumulate(prompts.tokens.begin(), prompts.tokens.end(), int64_t{0}));
  out.sample(kTextMs, scaled(sums(&Step::ms), per_text));
  out.derive(kTokensPerS, kTextMs,
             [&](double text_ms) { return tokens * per_text * 1e3 / text_ms; });
  out.set(kTexts, static_cast<double>(prompts.tokens.size()));
  std::vector<double> attention = sums(&Step::attention_ms);
  for (size_t turn = 0; turn < attention.size(); ++turn)
    attention[turn] -= turns_[turn].counts.parts_ms();
  out.sample(kAttentionMs, scaled(std::move(attention), per_text));
  out.sample(kFeedForwardMs, scaled(sums(&Step::feed_forward_ms), per_text));
  if (&first != this) {
    out.sample(kTextSpeedup, quotients(first.sums(&Step::ms), sums(&Step::ms)));
    out.sample(kAttentionSpeedup,
               quotients(first.sums(&Step::attention_ms), sums(&Step::attention_ms)));
    for (const MetricInfo& metric : {kTextSpeedup, kAttentionSpeedup})
      taking_.mark_comparison(first.taking_, metric, out);
  }
  TurnPartSamples parts;
  for (const Turn& turn : turns_) parts.add(turn.counts, per_text);
  parts.add_to(out);
  report_operations(per_text, out);
  if (method_->looks_up()) report_hits(first, prompts, out);
  MeasurementSink sink(out);
  method_->report(sink);
}

void PrefillLane::report_hits(const PrefillLane& first, const Prompts& prompts,
                              Measurement& out) const {
  const double per_text = 1.0 / static_cast<double>(prompts.tokens.size());
  const Turn& last = turns_.back();
  out.set(kHitRate, static_cast<double>(last.counts.reused_layers) * per_text /
                        static_cast<double>(prompts.config.layers));
  PrefillProducts products;
  for (const int64_t tokens : prompts.tokens)
    products.add(prefill_products(prompts.config, tokens));
  out.set(kAttentionBound, products.attention_bound());
  out.set(kTextBound, products.bound());
  const bool has_hits = std::any_of(last.steps.begin(), last.steps.end(),
                                    [](const Step& step) { return step.reused_layers > 0; });
  if (!prompts.is_one_a_step || !has_hits || &first == this) return;
  out.sample(kSpeedupHits,
             quotients(first.sums_of_hits(&Step::ms, last), sums_of_hits(&Step::ms, last)));
  out.sample(kAttentionSpeedupHits, quotients(first.sums_of_hits(&Step::attention_ms, last),
                                              sums_of_hits(&Step::attention_ms, last)));
  for (const MetricInfo& metric : {kSpeedupHits, kAttentionSpeedupHits})
    taking_.mark_comparison(first.taking_, metric, out);
}

}  // namespace reprise::experiments
