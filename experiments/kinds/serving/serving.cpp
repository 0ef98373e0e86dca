#include "experiments/kinds/serving/serving.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/problems.h"
#include "core/base/random.h"
#include "core/device/buffer.h"
#include "core/device/memory.h"
#include "core/engine/swap_space.h"
#include "experiments/framework/shared_info.h"
#include "experiments/kinds/serving/answer_accuracy.h"
#include "experiments/kinds/serving/engine_target.h"
#include "experiments/kinds/serving/method_run.h"
#include "experiments/kinds/serving/rate_search.h"
#include "experiments/kinds/serving/serving_agreement.h"
#include "experiments/kinds/serving/serving_axes.h"
#include "experiments/kinds/serving/serving_steps.h"
#include "experiments/kinds/shared/costs.h"
#include "experiments/kinds/shared/group_ties.h"
#include "experiments/kinds/shared/method_report.h"
#include "experiments/kinds/shared/places.h"
#include "experiments/serving/metrics.h"
#include "experiments/serving/rates_in_turn.h"
#include "experiments/serving/run.h"
#include "methods/registry.h"

namespace reprise::experiments {
namespace {

using workloads::RequestSource;

// The throughput of a run; 0 if the run had no duration.
double throughput_rps(const Measurement& measured) {
  return measured.value(serving::kThroughputRps);
}

// Returns the tokenizer that turns answers into text. Returns null if the requests have no answers
// to judge, or if the model has random weights, so that its answers mean nothing.
std::unique_ptr<const Tokenizer> judging_tokenizer(const Group& group,
                                                   const RequestSource& requests) {
  if (group.model.random_weights || !has_answers(requests)) return nullptr;
  return load_tokenizer(resolve_model(group.model.model));
}

void check_methods(const Group& group, bool has_model, Device device) {
  Problems problems;
  for (const MethodChoice& method : group.methods)
    problems.collect([&] {
      methods::make_method(method.name, method.options)
          ->check({.device = device, .has_model = has_model});
    });
  problems.raise_if_any();
}

// Throws Error if the budget cannot hold the keys and values of the longest request. Whole blocks
// and prefixes may need more, which the engine checks.
void check_kv_budget(const Group& group, const EngineAxes& axes, int64_t longest) {
  const int64_t budget = kv_budget_bytes(axes);
  const int64_t needed = longest * kv_bytes_per_token(Bench::config(group), group.kv_dtype);
  if (budget > 0 && budget < needed)
    raise("kv_budget_mb is {}, and the longest request, of {} tokens, needs {:.6g} MB",
          axes.kv_budget_mb, longest, static_cast<double>(needed) * 1e-6);
}

// An upper bound on the positions of any request. A method that imports modules places a prompt's
// new tokens behind the positions of all modules.
int64_t end_of_positions(const Group& group, const EngineAxes& axes,
                         const RequestSource& requests) {
  int64_t end = extent_of(axes, requests).longest;
  const bool imports =
      std::any_of(group.methods.begin(), group.methods.end(), [](const MethodChoice& method) {
        return methods::method_named(method.name).info.reads_markup;
      });
  if (!imports) return end;
  for (const std::vector<int32_t>& module : requests.modules()) end += std::ssize(module);
  return end;
}

// Throws Error if the requests do not fit into the memory or the positions of a run.
void check_requests(const Group& group, const ServingAxes& axes, const RequestSource& requests) {
  check_kv_budget(group, axes.engine, extent_of(axes.engine, requests).longest);
  if (!group.model.random_weights)
    check_positions(Bench::config(group), end_of_positions(group, axes.engine, requests));
}

// Throws Error if the requests cannot arrive as asked, or if partings shall be judged and cannot
// be.
void check_arrivals_and_judging(const Group& group, const ServingAxes& axes,
                                const RequestSource& requests) {
  const auto refuse = [&](const char* why) {
    raise("judged_partings is {}, and {}: leave it at 0", axes.judged_partings, why);
  };
  const bool is_of_sessions = schedule_of(group, axes.arrivals, requests).is_of_sessions();
  if (axes.judged_partings == 0) return;
  if (is_of_sessions)
    refuse("in sessions the prompts have the answers of the run, which are not kept");
  if (step_times_of(axes.steps)) refuse("with modelled steps no tokens are computed");
  if (searches_rate(axes.search)) refuse("the runs of a search are not compared");
}

serving::ServingPlan plan_of(const Group& group, const ServingAxes& axes,
                             const workloads::Salt& salt,
                             std::shared_ptr<const RequestSource> requests) {
  Group warmed = group;  // draws new warm-up prompts: a server may have cached other runs'
  if (salt.changes_prompts())
    warmed.seeds.prompts = random_bits(group.seeds.prompts, salt.nonce, 0);
  serving::ServingPlan plan{
      .source = requests,
      .schedule = schedule_of(group, axes.arrivals, *requests),
      .options = run_options_of(warmed, axes, *requests, Bench::config(group))};
  // The axis max_batch is for our engine; a server may run any number of requests at once. So a
  // queue counts as growing only if its backlog is at least half the requests.
  plan.options.growth.least_backlog = requests->size() / 2;
  try {
    plan.tokenizer = load_tokenizer(resolve_model(group.model.model));
  } catch (const Error&) {  // a model with random weights may have no tokenizer
  }
  return plan;
}

}  // namespace

KindInfo ServingKind::info() {
  KindInfo info{.name = "serving",
                .summary =
                    "requests at their times under continuous batching: latencies, rates, "
                    "memory, and whether the run may be reported",
                .axes = list_axes<ServingAxes>(),
                .metrics = serving::serving_metrics(),
                .own_workloads = serving_workloads()};
  info.metrics.push_back(serving::kThroughputSpeedup);
  for (const auto& part : {agreement_metrics(), answer_accuracy_metrics(), method_run_metrics(),
                           step_metrics(), rate_search_metrics()})
    info.metrics.insert(info.metrics.end(), part.begin(), part.end());
  add_method_metrics(MethodUse::kGeneration, /*takes_turns=*/false, info.metrics);
  return info;
}

void ServingKind::check(const Group& group) {
  const auto axes = group.axes_as<ServingAxes>();
  const bool has_model = !step_times_of(axes.steps);  // modelled steps need only the shape
  Problems problems;
  // A model that is missing must not hide a file that is missing, too.
  problems.collect([&] { (void)existing_path(group.workload.file); });
  if (has_model) problems.collect([&] { bench_.check_model(group); });
  problems.collect([&] { check_step_times(axes.steps); });
  problems.collect([&] { check_rate_search(axes); });
  problems.collect([&] {  // throws if states are swapped to disk and the folder cannot be written
    (void)engine::SwapSpace(engine_options_of(axes.engine, group.kv_dtype).swap);
  });
  problems.collect([&] { check_methods(group, has_model, bench_.context().device); });
  problems.collect([&] { check_arrivals_and_judging(group, axes, *source(group)); });
  problems.collect([&] { check_requests(group, axes, *source(group)); });
  problems.raise_if_any();
}

MemoryNeed ServingKind::memory_need(const Group& group) {
  const auto axes = group.axes_as<ServingAxes>();
  if (step_times_of(axes.steps)) return {};
  const Extent extent = extent_of(axes.engine, *source(group));
  const model::ModelConfig config = Bench::config(group);
  int64_t tokens = axes.engine.max_batch * extent.longest + extent.prefix_tokens;
  // A cache takes its whole budget, and one that retains states fills it.
  if (const int64_t budget = kv_budget_bytes(axes.engine); budget > 0)
    tokens = budget / kv_bytes_per_token(config, group.kv_dtype);
  const std::vector<methods::Prefix> prefixes = announced_prefixes(axes.engine, *source(group));
  const std::vector<std::vector<int32_t>> modules = source(group)->modules();
  // Requests that arrive at a rate may wait in any number. Only those that run are counted.
  const int64_t requests =
      axes.arrivals.wait_for_answers() ? axes.arrivals.most_in_flight : axes.engine.max_batch;
  int64_t held = 0;  // methods run one after another
  for (const MethodChoice& method : group.methods)
    held = std::max(
        held, methods::make_method(method.name, method.options)
                  ->held_tokens({.prefixes = prefixes, .modules = modules, .requests = requests}));
  tokens += held;
  MemoryNeed need = memory_of_model(config, group.weight_type(), group.kv_dtype, tokens);
  if (axes.judged_partings > 0) add_model_of_ties(group, need);
  return need;
}

const std::shared_ptr<const RequestSource>& ServingKind::source(const Group& group) {
  // Takes about 200 MB for prompts of 250 tokens.
  constexpr int64_t kMostKeptRequests = 200'000;
  const SourceAxes axes = group.axes_as<ServingAxes>().source;
  const std::string key = source_key(group, axes);
  if (const auto kept = sources_.find(key); kept != sources_.end()) return kept->second;
  std::shared_ptr<const RequestSource> made =
      request_source_of(group, axes, Bench::config(group).vocab);
  int64_t requests = made->size();
  for (const auto& [name, other] : sources_) requests += other->size();
  if (requests > kMostKeptRequests) sources_.clear();
  return sources_[key] = std::move(made);
}

void ServingKind::check_plan(const Group& group) const {
  const auto axes = group.axes_as<ServingAxes>();
  check_rate_search(axes);
  if (step_times_of(axes.steps))
    raise(
        "modelled_step_ms is {}, and a server's steps take the time that they take: set it to 0 "
        "(--set settings.modelled_step_ms=0)",
        axes.steps.modelled_step_ms);
}

serving::ServingPlan ServingKind::plan(const Group& group, const workloads::Salt& salt) {
  const auto axes = group.axes_as<ServingAxes>();
  return plan_of(group, axes, salt,
                 salt.changes_prompts()
                     ? request_source_of(group, axes.source, Bench::config(group).vocab, salt)
                     : source(group));
}

std::optional<Measurement> ServingKind::search(
    const Group& group, const std::function<workloads::Salt()>& next_salt,
    const std::function<serving::TrialRun(serving::ServingPlan&)>& run,
    const std::atomic<bool>& stop) {
  if (!searches_rate(group.axes_as<ServingAxes>().search)) return std::nullopt;
  const auto run_trial = [&](const RateTrialGroup& trial) {
    const workloads::Salt salt = next_salt();
    serving::ServingPlan plan = plan_of(
        trial.group, trial.axes, salt,
        request_source_of(trial.group, trial.axes.source, Bench::config(trial.group).vocab, salt));
    return run(plan);
  };
  return search_rate(group, run_trial, stop);
}

void ServingKind::trace_to(serving::TraceWriter& writer) {
  TracedKind::trace_to(writer);
  operations_ = std::make_unique<OperationLog>(kMostTracedOperations);
  bench_.record_operations(*operations_);
}

std::vector<Measurement> ServingKind::measure(const Group& group, const Machine& machine,
                                              const std::atomic<bool>& stop) {
  bench_.use_calibration(machine);
  const SearchAxes axes = group.axes_as<ServingAxes>().search;
  return searches_rate(axes) ? search_each(group, machine, stop) : run_each(group, machine, stop);
}

serving::RunResult ServingKind::run_traced(MethodRun& method_run, const std::string& name,
                                           const std::atomic<bool>& stop) {
  serving::RunResult result = method_run.run(stop, [this] {
    if (operations_ != nullptr) operations_->clear();  // of those that warmed up
  });
  if (operations_ != nullptr)
    result.log.kernels = kernel_entries_of(*operations_, result.log.start_s);
  trace(name, result.log);
  return result;
}

std::vector<Measurement> ServingKind::search_each(const Group& group, const Machine& machine,
                                                  const std::atomic<bool>& stop) {
  const RequestSource& requests = *source(group);
  std::vector<Measurement> measurements;
  for (const MethodChoice& method : group.methods) {
    if (stop) throw Interrupted{};
    AlignedBuffer::reset_peak();
    const auto run = [&](const RateTrialGroup& trial) {
      std::unique_ptr<const RequestSource> longer;
      if (trial.is_longer)
        longer = request_source_of(trial.group, trial.axes.source, Bench::config(group).vocab);
      // check() saw only the requests that the group asks for.
      try {
        if (longer) check_requests(trial.group, trial.axes, *longer);
      } catch (const Error& error) {
        return serving::TrialRun{.verdict = {.reasons = {error.what()}}, .measured = {}};
      }
      MethodRun method_run(trial.group, trial.axes, method, longer ? *longer : requests, bench_);
      const serving::RunResult result =
          run_traced(method_run,
                     fmt::format("{} {}, {:g} requests/s", group.label, label_of(method),
                                 trial.axes.arrivals.rate_rps),
                     stop);
      return serving::TrialRun{.verdict = result.verdict,
                               .measured = method_run.measurement(result, machine)};
    };
    measurements.push_back(search_rate(group, run, stop));
  }
  return measurements;
}

// Methods take turns, and in each repetition another method is first. A method's measurement comes
// from its first turn; only the comparison of rates uses all turns, so that an INVALID turn makes
// the measurement INVALID.
std::vector<Measurement> ServingKind::run_each(const Group& group, const Machine& machine,
                                               const std::atomic<bool>& stop) {
  const auto axes = group.axes_as<ServingAxes>();
  const RequestSource& requests = *source(group);
  std::vector<Measurement> measurements;
  std::vector<std::vector<double>> rates(group.methods.size());
  std::vector<std::vector<Parting>> partings(group.methods.size());
  const std::unique_ptr<const Tokenizer> judge = judging_tokenizer(group, requests);
  serving::RequestLog first;
  for (int64_t repetition = 0; repetition < group.repetitions; ++repetition) {
    for (size_t turn = 0; turn < group.methods.size(); ++turn) {
      const size_t m = (turn + static_cast<size_t>(repetition)) % group.methods.size();
      begin_turn(group, repetition, m, stop);
      AlignedBuffer::reset_peak();
      MethodRun method_run(group, axes, group.methods[m], requests, bench_);
      serving::RunResult result =
          run_traced(method_run,
                     fmt::format("{} {}, repetition {}", group.label, label_of(group.methods[m]),
                                 repetition + 1),
                     stop);
      Measurement measured = method_run.measurement(result, machine);
      rates[m].push_back(throughput_rps(measured));
      if (repetition > 0) {
        serving::add_later_verdict(result.verdict, measurements[m]);
        continue;
      }
      measurements.push_back(std::move(measured));
      if (step_times_of(axes.steps)) continue;  // its tokens mean nothing
      if (judge != nullptr)
        add_accuracy(result.log, requests, *judge, Bench::config(group).eos_ids,
                     measurements.back());
      if (m == 0) first = std::move(result.log);
      partings[m] = add_agreement(m == 0 ? first : result.log, first, measurements.back());
    }
  }
  GroupTies ties(bench_, group, static_cast<int32_t>(axes.engine.prefill_chunk));
  for (size_t m = 0; m < measurements.size(); ++m) {
    serving::add_rates(rates[m], rates[0], measurements[m]);
    add_judgement(ties, group, requests, std::move(partings[m]), measurements[m]);
  }
  return measurements;
}

}  // namespace reprise::experiments
