#include "experiments/kinds/accuracy/exactness.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/device/buffer.h"
#include "core/device/memory.h"
#include "experiments/framework/shared_info.h"
#include "experiments/kinds/accuracy/token_agreement.h"
#include "experiments/kinds/shared/group_ties.h"
#include "experiments/kinds/shared/method_report.h"
#include "methods/registry.h"

namespace reprise::experiments {
namespace {

const MetricInfo kGenerations = {"generations", "generations",
                                 "requests compared, of all repetitions"};
const MetricInfo kComparedTokens = {"compared_tokens", "tokens",
                                    "of each, up to and including the first that differs"};
const MetricInfo kDiverged = {"diverged", "generations", "whose tokens part from the reference"};
const MetricInfo kLargestTieGap = {
    "largest_tie_gap", "logit",
    "largest of the divergences in rounded dtypes: between the logits in f32 of the two tokens "
    "where they part"};
const MetricInfo kLargestTieGapRatio = {
    "largest_tie_gap_ratio", "ratio",
    "the same over twice the largest error that this dtype makes over this text"};
const MetricInfo kUnexplained = {
    "unexplained", "generations",
    "that diverged in f32, or with a tie_gap_ratio or logits differing from the reference's by a "
    "share of that error above 1.5: 0 for an exact method"};
const MetricInfo kMaxLogitDifference = {"max_logit_difference", "logit",
                                        "largest difference of a logit over compared_tokens"};
const MetricInfo kLogitScale = {"logit_scale", "logit",
                                "largest logit of the reference, in absolute value"};

struct ExactnessAxes : RequestAxes {
  ExactnessAxes() { new_tokens = 32; }
  int64_t batch = 8;

  void visit(AxisVisitor& visitor) {
    visitor.integer({"batch", "sequences", "sequences that generate together"}, {1, kMostSequences},
                    batch);
    visit_prompt_tokens(visitor);
    visitor.integer({"new_tokens", "tokens", "tokens each sequence generates"}, {1, kMostNewTokens},
                    new_tokens);
    visit_prefill_chunk(visitor);
    visit_shared_tokens(visitor);
  }
};

// The reference that every method is compared with, one request at a time.
const MethodChoice kReference = {.name = methods::kReferenceMethod};

using Prompts = std::vector<std::vector<int32_t>>;

// All requests of a group. Request r belongs to repetition r / batch.
struct Requests {
  Prompts prompts;
  std::vector<Generation> reference;
};

// The outcome of one method for a group's requests.
struct Outcome {
  Agreement agreement;
  std::vector<int32_t> tokens;  // tokens of all requests, in request order
  Measurement measured;         // all metrics except those that the judge adds
};

// Runs requests [first, first + count), as many at a time as the engine has room for.
std::vector<Generation> generate(engine::Engine& engine, const Group& group, const Prompts& prompts,
                                 size_t first, size_t count) {
  const int64_t new_tokens = group.axes_as<ExactnessAxes>().new_tokens;
  std::vector<Generation> generations(count);
  const auto of = [&](reuse::RequestId id) -> Generation& {
    return generations[static_cast<size_t>(id) - first];
  };
  engine.observe_logits([&](const engine::LogitsRow& row) {
    std::vector<float>& logits = of(row.request).logits;
    logits.insert(logits.end(), row.logits.begin(), row.logits.end());
  });
  for (size_t r = first; r < first + count; ++r) {
    engine::Request request = make_request(group, static_cast<int64_t>(r), prompts[r], new_tokens);
    request.logits = engine::LogitsMode::kDrawn;
    engine.submit(std::move(request));
  }
  const std::vector<engine::TokenEvent> events = engine.run();
  engine::require_served(events);
  for (const engine::TokenEvent& event : events) of(event.request).tokens.push_back(event.token);
  engine.observe_logits({});
  return generations;
}

Requests make_requests(Bench& bench, const Group& group, const std::atomic<bool>& stop) {
  const auto axes = group.axes_as<ExactnessAxes>();
  Requests requests;
  for (int64_t r = 0; r < group.repetitions * axes.batch; ++r)
    requests.prompts.push_back(bench.prompt(group, axes, r));
  const Bench::Lane lane = bench.make_lane(group, axes, kReference, 1);
  for (size_t r = 0; r < requests.prompts.size(); ++r) {
    if (stop) throw Interrupted{};
    requests.reference.push_back(
        std::move(generate(*lane.engine, group, requests.prompts, r, 1).front()));
  }
  return requests;
}

Outcome run_method(Bench& bench, const Group& group, size_t method, const Requests& requests,
                   const std::atomic<bool>& stop) {
  AlignedBuffer::reset_peak();
  const auto axes = group.axes_as<ExactnessAxes>();
  const auto batch = static_cast<size_t>(axes.batch);
  const Bench::Lane lane = bench.make_lane(group, axes, group.methods[method], axes.batch);
  engine::Engine& engine = *lane.engine;
  Outcome outcome;
  for (size_t first = 0; first < requests.prompts.size(); first += batch) {
    if (stop) throw Interrupted{};
    const auto generations = generate(engine, group, requests.prompts, first, batch);
    for (size_t b = 0; b < batch; ++b) {
      outcome.agreement.add(static_cast<int64_t>(first + b), requests.reference[first + b],
                            generations[b]);
      outcome.tokens.insert(outcome.tokens.end(), generations[b].tokens.begin(),
                            generations[b].tokens.end());
    }
  }
  outcome.measured.metrics =
      method_metrics(engine, axes, static_cast<int64_t>(requests.prompts.size()));
  add_report(*lane.method, outcome.measured);
  update(outcome.measured.resolved,
         resolved_settings(engine, bench.decoder(group), lane.method->exactness()));
  outcome.measured.resolved["warmup"] = 0;
  outcome.measured.memory = memory_of(engine);
  return outcome;
}

// The tokens that the two runs have in common before they diverge.
std::vector<int32_t> text_before(const Divergence& divergence, const Requests& requests) {
  const auto request = static_cast<size_t>(divergence.request);
  std::vector<int32_t> text = requests.prompts[request];
  const std::vector<int32_t>& generated = requests.reference[request].tokens;
  text.insert(text.end(), generated.begin(), generated.begin() + divergence.index);
  return text;
}

// True if rounding explains a divergence. First, the two tokens must nearly tie. Second, the logits
// of the two runs must differ by about twice tie.deviation at most, since each run may be off the
// f32 logits by tie.deviation. A wrong method may diverge at a near tie by chance, but its logits
// will not be this close to the reference's.
bool is_rounding(const Divergence& divergence, const NearTie& tie) {
  const NearTie between_runs = {.gap = divergence.max_logit_difference, .deviation = tie.deviation};
  return tie.ratio() <= kMostTieRatio && between_runs.ratio() <= kMostTieRatio;
}

class Judgement {
 public:
  Judgement(Bench& bench, const Group& group)
      : group_(group),
        ties_(bench, group, static_cast<int32_t>(group.axes_as<ExactnessAxes>().prefill_chunk)) {}

  // Adds metrics on the outcome's divergences, and lists the divergences in the answers.
  void add_to(Measurement& measured, const Agreement& agreement, const Requests& requests) {
    Values shown;
    int64_t unexplained = 0;
    double largest_gap = 0, largest_ratio = 0;
    for (const Divergence& divergence : agreement.divergences) {
      Fields one = {{"request", divergence.request},
                    {"token_index", divergence.index},
                    {"reference_token", divergence.reference_token},
                    {"token", divergence.token},
                    {"max_logit_difference", divergence.max_logit_difference}};
      if (is_rounded(group_)) {
        const NearTie tie = ties_.judge(text_before(divergence, requests),
                                        divergence.reference_token, divergence.token);
        one["gap"] = tie.gap;
        one["deviation"] = tie.deviation;
        largest_gap = std::max(largest_gap, tie.gap);
        largest_ratio = std::max(largest_ratio, tie.ratio());
        unexplained += is_rounding(divergence, tie) ? 0 : 1;
      } else {
        ++unexplained;
      }
      shown.emplace_back(std::move(one));
    }
    measured.answers["divergences"] = std::move(shown);
    measured.set(kUnexplained, static_cast<double>(unexplained));
    if (!is_rounded(group_) || agreement.divergences.empty()) return;
    measured.set(kLargestTieGap, largest_gap);
    measured.set(kLargestTieGapRatio, largest_ratio);
  }

 private:
  const Group& group_;
  GroupTies ties_;
};

void add_agreement(Measurement& measured, const Agreement& agreement) {
  measured.set(kGenerations, static_cast<double>(agreement.generations));
  measured.set(kComparedTokens, static_cast<double>(agreement.compared_tokens));
  measured.set(kDiverged, static_cast<double>(agreement.divergences.size()));
  measured.set(kMaxLogitDifference, agreement.max_logit_difference);
  measured.set(kLogitScale, agreement.logit_scale);
}

std::vector<int32_t> tokens_of(const std::vector<Generation>& generations) {
  std::vector<int32_t> tokens;
  for (const Generation& generation : generations)
    tokens.insert(tokens.end(), generation.tokens.begin(), generation.tokens.end());
  return tokens;
}

}  // namespace

KindInfo ExactnessKind::info() {
  KindInfo info{
      .name = "exactness",
      .summary =
          "greedy tokens and logits of batches against the contiguous cache with one request at a "
          "time; nothing is timed or warmed up",
      .axes = list_axes<ExactnessAxes>(),
      .metrics = {kGenerations, kComparedTokens, kDiverged, kLargestTieGap, kLargestTieGapRatio,
                  kUnexplained, kMaxLogitDifference, kLogitScale, kReusedTokens, kKvMb}};
  add_method_metrics(MethodUse::kGeneration, /*takes_turns=*/false, info.metrics);
  return info;
}

void ExactnessKind::check(const Group& group) {
  bench_.check(group, group.axes_as<ExactnessAxes>());
}

MemoryNeed ExactnessKind::memory_need(const Group& group) {
  const auto axes = group.axes_as<ExactnessAxes>();
  return memory_of_prompts(group, axes, axes.batch, /*take_turns=*/false);
}

std::vector<Measurement> ExactnessKind::measure(const Group& group, const Machine& /*machine*/,
                                                const std::atomic<bool>& stop) {
  const Requests requests = make_requests(bench_, group, stop);
  Judgement judgement(bench_, group);
  Group compared = group;
  compared.methods = {kReference, {}};
  std::vector<Measurement> measurements;
  for (size_t m = 0; m < group.methods.size(); ++m) {
    Outcome outcome = run_method(bench_, group, m, requests, stop);
    Measurement& measured = outcome.measured;
    add_agreement(measured, outcome.agreement);
    compared.methods[1] = group.methods[m];
    measured.answers = answers_of(compared, 1, {tokens_of(requests.reference), outcome.tokens});
    measured.answers["compared_with"] = kReference.name + ", one request at a time";
    judgement.add_to(measured, outcome.agreement, requests);
    measurements.push_back(std::move(measured));
  }
  return measurements;
}

}  // namespace reprise::experiments
