#include "experiments/kinds/serving/serving_axes.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/temporary_file.h"
#include "experiments/kinds/shared/bench.h"
#include "experiments/kinds/shared/places.h"

namespace reprise::experiments {
namespace {

using workloads::SourceField;
using workloads::SourceOptions;

constexpr double kMostSeconds = 1e9, kMostRate = 1e6;
constexpr const char* kTrace = "trace";
constexpr const char* kClosed = "closed";
constexpr const char* kSessions = "sessions";
constexpr const char* kDeclared = "declared";

void show(AxisVisitor& visitor, const SourceField& field, SourceOptions& options) {
  const AxisText text = {field.name, field.unit, field.help, field.came_later};
  if (const auto* integer = std::get_if<int64_t SourceOptions::*>(&field.member))
    visitor.integer(text, {static_cast<int64_t>(field.low), static_cast<int64_t>(field.high)},
                    options.*(*integer));
  else if (const auto* real = std::get_if<double SourceOptions::*>(&field.member))
    visitor.real(text, {field.low, field.high}, options.*(*real));
  else if (auto& word = options.*std::get<std::string SourceOptions::*>(field.member);
           field.words.empty())
    visitor.text(text, {}, word);
  else
    visitor.word(text, {field.words}, word);
}

constexpr Reals kSeconds = {0, kMostSeconds};
constexpr double kLeastRate = 1e-6;
constexpr Reals kRates = {kLeastRate, kMostRate};
constexpr Reals kLengths = {kLeastRate, kMostSeconds};  // of bursts, in seconds
constexpr Reals kMegabytes = {0, 1e9};

double bound_s(double ms) { return ms == 0 ? serving::Slo::kNone : ms * 1e-3; }

}  // namespace

void SourceAxes::visit(AxisVisitor& visitor) {
  for (const SourceField& field : workloads::source_fields()) show(visitor, field, options);
}

bool ArrivalAxes::wait_for_answers() const { return arrivals == kClosed || arrivals == kSessions; }

void ArrivalAxes::visit(AxisVisitor& visitor) {
  visitor.word({"arrivals", "", "when requests come; trace: as the workload recorded it"},
               {names_of(workloads::known_arrivals())}, arrivals);
  visitor.real({"rate_rps", "1/s",
                "requests a second: in the long run; of a ramp, at its beginning; between "
                "bursts; of a trace, which is stretched to it, 0: as recorded"},
               {0, kMostRate}, rate_rps);
  visitor.real({"cv", "ratio", "of gamma: the gaps' standard deviation over their mean"},
               {kLeastRate, 1e3}, cv);
  visitor.integer({"most_in_flight", "requests",
                   "of closed: users who wait for their answers; of sessions: conversations under "
                   "way"},
                  {1, kMostSequences}, most_in_flight);
  visitor.real({"pause_s", "s",
                "of sessions: mean time from an answer to the conversation's next request, such as "
                "a tool takes",
                /*came_later=*/true},
               kSeconds, pause_s);
  visitor.real(
      {"most_pause_s", "s",
       "of sessions: above 0, pauses are those that the workload recorded, and longer ones "
       "are cut to it",
       /*came_later=*/true},
      kSeconds, most_pause_s);
  visitor.real({"end_rate_rps", "1/s", "of a ramp: from its end on"}, kRates, end_rate_rps);
  visitor.real({"ramp_s", "s", "how long the rate takes to get there; 0: the whole run"}, kSeconds,
               ramp_s);
  visit_bursts(visitor);
}

void ArrivalAxes::visit_bursts(AxisVisitor& visitor) {
  visitor.real({"burst_rate_rps", "1/s", "of burst: within one"}, kRates, burst_rate_rps);
  visitor.real({"burst_s", "s", "length of a burst"}, kLengths, burst_s);
  visitor.real({"between_s", "s", "from one burst to the next"}, kLengths, between_s);
}

void EngineAxes::visit(AxisVisitor& visitor) {
  visitor.integer({"max_batch", "requests", "that run at once, at most"}, {1, kMostSequences},
                  max_batch);
  visit_prefill_chunk(visitor);
  visitor.word({"scheduler", "", "who runs next"}, {engine::known_schedulers()}, scheduler);
  visitor.real({"most_wait_s", "s",
                "of schedulers that let others pass: who has waited for so long comes first"},
               kSeconds, most_wait_s);
  visitor.word({"prefixes", "",
                "declared: the engine is told of the workload's, and computes them before the "
                "first request, with methods that keep prefixes"},
               {{kDeclared, "hidden"}}, prefixes);
  visit_memory(visitor);
}

void EngineAxes::visit_memory(AxisVisitor& visitor) {
  visitor.real({"kv_budget_mb", "MB",
                "that keys and values may take (1 MB: 10^6 bytes); 0: as much as the batch's "
                "longest requests need"},
               kMegabytes, kv_budget_mb);
  visitor.word({"preemption", "", "what becomes of requests that give back their cache for others"},
               {engine::known_preemptions()}, preemption);
  visitor.real({"swap_budget_mb", "MB", "that swapped states may take; 0: what memory or disk has"},
               kMegabytes, swap_budget_mb);
}

void StepModelAxes::visit(AxisVisitor& visitor) {
  visitor.real({"modelled_step_ms", "ms",
                "above 0: steps take modelled times on a clock of their own, and the network "
                "computes nothing; this is each step's"},
               kSeconds, modelled_step_ms);
  visitor.real({"modelled_row_us", "us", "that each token computed adds to it"}, kSeconds,
               modelled_row_us);
  visitor.real({"modelled_context_ns", "ns",
                "and each cached token that is read, of several sequences at once only once"},
               kSeconds, modelled_context_ns);
}

void RuleAxes::visit(AxisVisitor& visitor) {
  visit_service_level(visitor);
  visitor.real({"least_duration_s", "s", "a shorter run is INVALID"}, kSeconds, least_duration_s);
  visitor.real({"most_drain_s", "s",
                "that answers may take once the last request was sent; the rest is given "
                "up, and the run INVALID"},
               kSeconds, most_drain_s);
  visitor.integer({"least_requests", "requests", "a run of fewer is INVALID"},
                  {1, int64_t{1} << 30}, least_requests);
  visit_stop(visitor);
}

void RuleAxes::visit_stop(AxisVisitor& visitor) {
  visitor.real({"stop_width", "ratio",
                "above 0: the run ends once stop_latency's percentile stop_share is known so well: "
                "its interval is at most so wide, over its value",
                /*came_later=*/true},
               {0, 10}, stop_width);
  visitor.word({"stop_latency", "", "the latency that is to be known", /*came_later=*/true},
               {{"ttft", "tpot", "e2e"}}, stop_latency);
  visitor.real({"stop_share", "ratio", "which of its percentiles: 0.5 is the median",
                /*came_later=*/true},
               {0.01, 0.9999}, stop_share);
}

void RuleAxes::visit_service_level(AxisVisitor& visitor) {
  visitor.real(
      {"slo_ttft_ms", "ms", "service level: time to first token, at most; 0: not part of it"},
      kSeconds, slo_ttft_ms);
  visitor.real({"slo_tpot_ms", "ms", "service level: time of a further token"}, kSeconds,
               slo_tpot_ms);
  visitor.real({"slo_e2e_ms", "ms", "service level: time to the last token"}, kSeconds, slo_e2e_ms);
  visitor.real(
      {"slo_normalised_ms", "ms", "service level: time to the last token over their number"},
      kSeconds, slo_normalised_ms);
  visitor.real({"slo_share", "ratio", "of the requests, that are to be within it"}, {0.01, 0.9999},
               slo_share);
}

void SearchAxes::visit(AxisVisitor& visitor) {
  visitor.word({"search", "",
                "one run at rate_rps, or as many as it takes to find the highest rate that "
                "meets the service level, from rate_rps on"},
               {{kOneRate, kHighestRate}}, search);
  visitor.real({"search_resolution", "ratio",
                "it ends where the rates that pass and that do not lie so near"},
               {0.001, 1}, search_resolution);
  visitor.integer({"search_trials", "runs", "at one rate, at most, of other arrivals each"},
                  {1, 100}, search_trials);
}

void ServingAxes::visit(AxisVisitor& visitor) {
  source.visit(visitor);
  arrivals.visit(visitor);
  engine.visit(visitor);
  steps.visit(visitor);
  rules.visit(visitor);
  search.visit(visitor);
  visitor.real(
      {"usd_per_hour", "USD/h", "price of the machine, for usd_per_1000_requests; 0: not given",
       /*came_later=*/true},
      {0, 1e6}, usd_per_hour);
  visitor.integer({"judged_partings", "requests",
                   "of a method, whose tokens part from the first method's, to find out whether "
                   "they do so at near ties; in a rounded dtype this takes the model in f32 "
                   "besides"},
                  {0, int64_t{1} << 20}, judged_partings);
}

std::vector<workloads::WorkloadInfo> serving_workloads() {
  std::vector<workloads::WorkloadInfo> all;
  for (const workloads::SourceInfo& source : workloads::known_request_sources())
    all.push_back({.name = source.name,
                   .summary = source.summary,
                   .takes_file = source.file != workloads::FileUse::kNone,
                   .file_is_optional = source.file == workloads::FileUse::kOptional});
  return all;
}

std::unique_ptr<workloads::RequestSource> request_source_of(const Group& group,
                                                            const SourceAxes& axes, int64_t vocab,
                                                            const workloads::Salt& salt) {
  SourceOptions options = axes.options;
  options.vocab = vocab;
  options.salt = salt;
  options.prompts_seed = group.seeds.prompts;
  options.order_seed = group.seeds.order;
  options.arrivals_seed = group.seeds.arrivals;
  options.tokenizer = [model = group.model.model] {
    return std::shared_ptr<const Tokenizer>(load_tokenizer(resolve_model(model)));
  };
  options.file = existing_path(group.workload.file);
  return workloads::make_request_source(group.workload.name, options);
}

std::string source_key(const Group& group, const SourceAxes& axes) {
  Values key = {group.model.model,   group.workload.name, group.workload.file,
                group.seeds.prompts, group.seeds.order,   group.seeds.arrivals};
  for (const auto& [name, value] : axis_values(axes)) key.push_back(value.value());
  return json_text(key);
}

workloads::ArrivalSchedule schedule_of(const Group& group, const ArrivalAxes& axes,
                                       const workloads::RequestSource& source) {
  workloads::ArrivalOptions options{.rate_rps = axes.rate_rps,
                                    .cv = axes.cv,
                                    .most_in_flight = axes.most_in_flight,
                                    .seed = group.seeds.arrivals,
                                    .end_rate_rps = axes.end_rate_rps,
                                    .ramp_s = axes.ramp_s,
                                    .burst_rate_rps = axes.burst_rate_rps,
                                    .burst_s = axes.burst_s,
                                    .between_s = axes.between_s,
                                    .pause_s = axes.pause_s,
                                    .most_pause_s = axes.most_pause_s};
  if (axes.arrivals == kSessions) {
    options.waits_for = source.waits_for();
    options.recorded_pauses_s = source.pauses_s();
  }
  if (axes.arrivals == kTrace) {
    options.recorded_s = source.arrivals_s();
    options.recorded_rate_rps = options.rate_rps;
    if (options.recorded_s.empty())
      raise("workload \"{}\" has no times of its own: take other arrivals than \"{}\"",
            group.workload.name, kTrace);
  }
  return workloads::make_schedule(axes.arrivals, options, source.size());
}

bool declares_prefixes(const EngineAxes& axes) { return axes.prefixes == kDeclared; }

namespace {

// Returns at least one byte if a budget is given, because 0 means that there is none.
int64_t budget_bytes(double mb) {
  return mb > 0 ? std::max<int64_t>(1, std::llround(mb * 1e6)) : 0;
}

}  // namespace

int64_t kv_budget_bytes(const EngineAxes& axes) { return budget_bytes(axes.kv_budget_mb); }

engine::EngineOptions engine_options_of(const EngineAxes& axes, DType kv_dtype) {
  engine::EngineOptions options;
  options.limits.max_batch = static_cast<int32_t>(axes.max_batch);
  options.kv_dtype = kv_dtype;
  options.step_tokens = static_cast<int32_t>(axes.prefill_chunk);
  options.kv_budget_bytes = kv_budget_bytes(axes);
  options.scheduler = engine::make_scheduler(axes.scheduler, {.most_wait_s = axes.most_wait_s});
  options.swap.preemption = engine::parse_preemption(axes.preemption);
  options.swap.most_bytes = budget_bytes(axes.swap_budget_mb);
  if (options.swap.preemption == engine::Preemption::kSwapDisk)
    options.swap.folder = temporary_folder();
  options.swap.folder_option = "TMPDIR";
  options.clock_ns = now_ns;
  return options;
}

std::optional<engine::StepTimes> step_times_of(const StepModelAxes& axes) {
  if (axes.modelled_step_ms == 0) return std::nullopt;
  return engine::StepTimes{.step_s = axes.modelled_step_ms * 1e-3,
                           .row_s = axes.modelled_row_us * 1e-6,
                           .context_token_s = axes.modelled_context_ns * 1e-9};
}

void check_step_times(const StepModelAxes& axes) {
  if (step_times_of(axes)) return;
  const auto require_none = [](const char* name, double value) {
    if (value > 0)
      raise("{} is {}, and modelled_step_ms is 0: give it too, or steps are not modelled", name,
            value);
  };
  require_none("modelled_row_us", axes.modelled_row_us);
  require_none("modelled_context_ns", axes.modelled_context_ns);
}

serving::Slo slo_of(const RuleAxes& axes) {
  return {.ttft_s = bound_s(axes.slo_ttft_ms),
          .tpot_s = bound_s(axes.slo_tpot_ms),
          .e2e_s = bound_s(axes.slo_e2e_ms),
          .normalised_s = bound_s(axes.slo_normalised_ms),
          .share = axes.slo_share};
}

serving::WidthRule width_rule_of(const RuleAxes& axes) {
  return {.width = axes.stop_width,
          .latency = axes.stop_latency,
          .share = axes.stop_share,
          .least_duration_s = axes.least_duration_s,
          .least_requests = axes.least_requests};
}

serving::ValidityRules validity_rules_of(const RuleAxes& axes) {
  return {.least_duration_s = axes.least_duration_s,
          .least_requests = axes.least_requests,
          .slo = slo_of(axes)};
}

}  // namespace reprise::experiments
