#include "experiments/kinds/serving/serving_axes.h"

#include <cmath>

#include "core/base/error.h"
#include "experiments/framework/shared_info.h"
#include "experiments/kinds/shared/bench.h"
#include "experiments/kinds/shared/places.h"

namespace reprise::experiments {
namespace {

using workloads::SourceField;
using workloads::SourceOptions;

constexpr double kMostSeconds = 1e9, kMostRate = 1e6;
constexpr const char* kTrace = "trace";
constexpr const char* kDeclared = "declared";

Axis axis_of(const SourceField& field) {
  static const SourceOptions defaults;
  Axis axis{.name = std::string(field.name),
            .unit = std::string(field.unit),
            .help = std::string(field.help)};
  if (const auto* integer = std::get_if<int64_t SourceOptions::*>(&field.member)) {
    axis.fallback = defaults.*(*integer);
    axis.accepted = Integers{static_cast<int64_t>(field.low), static_cast<int64_t>(field.high)};
  } else if (const auto* real = std::get_if<double SourceOptions::*>(&field.member)) {
    axis.fallback = defaults.*(*real);
    axis.accepted = Reals{field.low, field.high};
  } else {
    axis.fallback = defaults.*std::get<std::string SourceOptions::*>(field.member);
    if (field.words.size() == 0)
      axis.accepted = AnyText{};
    else
      axis.accepted = Words{{field.words.begin(), field.words.end()}};
  }
  return axis;
}

Axis seconds_axis(const char* name, double fallback, double low, const char* help) {
  return {.name = name,
          .fallback = fallback,
          .accepted = Reals{low, kMostSeconds},
          .unit = "s",
          .help = help};
}

Axis rate_axis(const char* name, double fallback, double low, const char* help) {
  return {.name = name,
          .fallback = fallback,
          .accepted = Reals{low, kMostRate},
          .unit = "1/s",
          .help = help};
}

std::vector<Axis> arrival_axes() {
  constexpr double kLeastRate = 1e-6;
  return {{.name = "arrivals",
           .fallback = "poisson",
           .accepted = Words{names_of(workloads::known_arrivals())},
           .unit = "",
           .help = "when requests come; trace: as the workload recorded it"},
          rate_axis("rate_rps", 1.0, 0,
                    "requests a second: in the long run; of a ramp, at its beginning; between "
                    "bursts; of a trace, which is stretched to it, 0: as recorded"),
          {.name = "cv",
           .fallback = 1.0,
           .accepted = Reals{kLeastRate, 1e3},
           .unit = "ratio",
           .help = "of gamma: the gaps' standard deviation over their mean"},
          {.name = "most_in_flight",
           .fallback = 1,
           .accepted = Integers{1, kMostSequences},
           .unit = "requests",
           .help = "of closed: users who wait for their answers"},
          rate_axis("end_rate_rps", 1.0, kLeastRate, "of a ramp: from its end on"),
          seconds_axis("ramp_s", 0.0, 0, "how long the rate takes to get there; 0: the whole run"),
          rate_axis("burst_rate_rps", 1.0, kLeastRate, "of burst: within one"),
          seconds_axis("burst_s", 1.0, kLeastRate, "length of a burst"),
          seconds_axis("between_s", 1.0, kLeastRate, "from one burst to the next")};
}

std::vector<Axis> engine_axes() {
  return {
      {.name = "max_batch",
       .fallback = 32,
       .accepted = Integers{1, kMostSequences},
       .unit = "requests",
       .help = "that run at once, at most"},
      kPrefillChunkAxis,
      {.name = "scheduler",
       .fallback = "first_come",
       .accepted = Words{engine::known_schedulers()},
       .unit = "",
       .help = "who runs next"},
      seconds_axis("most_wait_s", 10.0, 0,
                   "of schedulers that let others pass: who has waited for so long comes first"),
      {.name = "prefixes",
       .fallback = kDeclared,
       .accepted = Words{{kDeclared, "hidden"}},
       .unit = "",
       .help = "declared: the engine is told of the workload's, and computes them before the first "
               "request, with methods that keep prefixes"},
      {.name = "kv_budget_mb",
       .fallback = 0.0,
       .accepted = Reals{0, 1e9},
       .unit = "MB",
       .help = "that keys and values may take (1 MB: 10^6 bytes); 0: as much as the batch's "
               "longest requests need"},
      {.name = "preemption",
       .fallback = "recompute",
       .accepted = Words{engine::known_preemptions()},
       .unit = "",
       .help = "what becomes of requests that give back their cache for others"},
      {.name = "swap_budget_mb",
       .fallback = 0.0,
       .accepted = Reals{0, 1e9},
       .unit = "MB",
       .help = "that swapped states may take; 0: what memory or disk has"}};
}

std::vector<Axis> step_model_axes() {
  const auto time = [](const char* name, const char* unit, const char* help) {
    return Axis{.name = name,
                .fallback = 0.0,
                .accepted = Reals{0, kMostSeconds},
                .unit = unit,
                .help = help};
  };
  return {time("modelled_step_ms", "ms",
               "above 0: steps take modelled times on a clock of their own, and the network "
               "computes nothing; this is each step's"),
          time("modelled_row_us", "us", "that each token computed adds to it"),
          time("modelled_context_ns", "ns",
               "and each cached token that is read, of several sequences at once only once")};
}

std::vector<Axis> rule_axes() {
  const auto bound = [](const char* name, const char* help) {
    return Axis{.name = name,
                .fallback = 0.0,
                .accepted = Reals{0, kMostSeconds},
                .unit = "ms",
                .help = help};
  };
  return {bound("slo_ttft_ms", "service level: time to first token, at most; 0: not part of it"),
          bound("slo_tpot_ms", "service level: time of a further token"),
          bound("slo_e2e_ms", "service level: time to the last token"),
          bound("slo_normalised_ms", "service level: time to the last token over their number"),
          {.name = "slo_share",
           .fallback = 0.99,
           .accepted = Reals{0.01, 0.9999},
           .unit = "ratio",
           .help = "of the requests, that are to be within it"},
          seconds_axis("least_duration_s", 60.0, 0, "a shorter run is INVALID"),
          seconds_axis("most_drain_s", 3600.0, 0,
                       "that answers may take once the last request was sent; the rest is given "
                       "up, and the run INVALID"),
          {.name = "least_requests",
           .fallback = 100,
           .accepted = Integers{1, int64_t{1} << 30},
           .unit = "requests",
           .help = "a run of fewer is INVALID"}};
}

double bound_s(const Group& group, const char* axis) {
  const double ms = group.real_axis(axis);
  return ms == 0 ? serving::Slo::kNone : ms * 1e-3;
}

}  // namespace

std::vector<Axis> source_axes() {
  std::vector<Axis> all;
  for (const SourceField& field : workloads::source_fields()) all.push_back(axis_of(field));
  return all;
}

std::vector<Axis> serving_axes() {
  std::vector<Axis> all = source_axes();
  for (const auto& part : {arrival_axes(), engine_axes(), step_model_axes(), rule_axes()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
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

std::unique_ptr<workloads::RequestSource> request_source_of(const Group& group, int64_t vocab) {
  SourceOptions options{
      .vocab = vocab,
      .prompts_seed = group.seeds.prompts,
      .order_seed = group.seeds.order,
      .arrivals_seed = group.seeds.arrivals,
      .tokenizer = [model = group.model.model] {
        return std::shared_ptr<const Tokenizer>(load_tokenizer(resolve_model(model)));
      }};
  if (!group.workload.file.empty()) options.file = resolve_path(group.workload.file);
  for (const SourceField& field : workloads::source_fields()) {
    const AxisValue& value = group.axes.at(std::string(field.name));
    if (const auto* integer = std::get_if<int64_t SourceOptions::*>(&field.member))
      options.*(*integer) = value.integer();
    else if (const auto* real = std::get_if<double SourceOptions::*>(&field.member))
      options.*(*real) = value.real();
    else
      options.*std::get<std::string SourceOptions::*>(field.member) = value.word();
  }
  return workloads::make_request_source(group.workload.name, options);
}

std::string source_key(const Group& group) {
  Json key = {group.model.model,   group.workload.name, group.workload.file,
              group.seeds.prompts, group.seeds.order,   group.seeds.arrivals};
  for (const SourceField& field : workloads::source_fields())
    key.push_back(group.axes.at(std::string(field.name)).json());
  return key.dump();
}

workloads::ArrivalSchedule schedule_of(const Group& group, const workloads::RequestSource& source) {
  const std::string& name = group.word_axis("arrivals");
  workloads::ArrivalOptions options{.rate_rps = group.real_axis("rate_rps"),
                                    .cv = group.real_axis("cv"),
                                    .most_in_flight = group.axis("most_in_flight"),
                                    .seed = group.seeds.arrivals,
                                    .end_rate_rps = group.real_axis("end_rate_rps"),
                                    .ramp_s = group.real_axis("ramp_s"),
                                    .burst_rate_rps = group.real_axis("burst_rate_rps"),
                                    .burst_s = group.real_axis("burst_s"),
                                    .between_s = group.real_axis("between_s")};
  if (name == kTrace) {
    options.recorded_s = source.arrivals_s();
    options.recorded_rate_rps = options.rate_rps;
    if (options.recorded_s.empty())
      raise("workload \"{}\" has no times of its own: take other arrivals than \"{}\"",
            group.workload.name, kTrace);
  }
  return workloads::make_arrivals(name, options)->schedule(source.size());
}

bool declares_prefixes(const Group& group) { return group.word_axis("prefixes") == kDeclared; }

int64_t kv_budget_bytes(const Group& group) {
  return std::llround(group.real_axis("kv_budget_mb") * 1e6);
}

engine::EngineOptions engine_options_of(const Group& group) {
  engine::EngineOptions options;
  options.limits.max_batch = static_cast<int32_t>(group.axis("max_batch"));
  options.kv_dtype = group.kv_dtype;
  options.step_tokens = static_cast<int32_t>(group.axis("prefill_chunk"));
  options.kv_budget_bytes = kv_budget_bytes(group);
  options.scheduler = engine::make_scheduler(group.word_axis("scheduler"),
                                             {.most_wait_s = group.real_axis("most_wait_s")});
  options.swap.preemption = engine::parse_preemption(group.word_axis("preemption"));
  options.swap.most_bytes = std::llround(group.real_axis("swap_budget_mb") * 1e6);
  options.clock_ns = now_ns;
  return options;
}

std::optional<engine::StepTimes> step_times_of(const Group& group) {
  const double step_ms = group.real_axis("modelled_step_ms");
  if (step_ms == 0) return std::nullopt;
  return engine::StepTimes{.step_s = step_ms * 1e-3,
                           .row_s = group.real_axis("modelled_row_us") * 1e-6,
                           .context_token_s = group.real_axis("modelled_context_ns") * 1e-9};
}

void check_step_times(const Group& group) {
  if (step_times_of(group)) return;
  for (const char* name : {"modelled_row_us", "modelled_context_ns"})
    if (group.real_axis(name) > 0)
      raise("{} is {}, and modelled_step_ms is 0: give it too, or steps are not modelled", name,
            group.real_axis(name));
}

serving::Slo slo_of(const Group& group) {
  return {.ttft_s = bound_s(group, "slo_ttft_ms"),
          .tpot_s = bound_s(group, "slo_tpot_ms"),
          .e2e_s = bound_s(group, "slo_e2e_ms"),
          .normalised_s = bound_s(group, "slo_normalised_ms"),
          .share = group.real_axis("slo_share")};
}

serving::ValidityRules validity_rules_of(const Group& group) {
  return {.least_duration_s = group.real_axis("least_duration_s"),
          .least_requests = group.axis("least_requests"),
          .slo = slo_of(group)};
}

}  // namespace reprise::experiments
