#include "experiments/kinds/serving/load_kind.h"

#include <random>
#include <utility>

#include "core/base/descriptors.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/random.h"
#include "core/base/visible.h"
#include "core/device/core_use.h"
#include "core/device/cpu.h"
#include "experiments/kinds/serving/load_reuse.h"
#include "experiments/serving/metrics.h"
#include "experiments/serving/rates_in_turn.h"
#include "experiments/serving/run.h"
#include "results/hash.h"
#include "results/manifest.h"

namespace reprise::server {

namespace serving = experiments::serving;

namespace {

constexpr std::pair<const char*, workloads::SaltScope> kReuses[] = {
    {"none", workloads::SaltScope::kRequest},
    {"session", workloads::SaltScope::kSession},
    {"prefix_within_run", workloads::SaltScope::kRun},
    {"all", workloads::SaltScope::kAnything}};

workloads::SaltScope scope_of(const std::string& reuse) {
  for (const auto& [name, scope] : kReuses)
    if (name == reuse) return scope;
  raise("reuse: {}", unknown_name("kind of reuse", reuse, reuse_names()));
}

// Returns a different salt for each group, because a server cannot be made to forget the prompts of
// the previous group. The salt does not depend on the group's id, which contains the server's name.
// So with the same nonce all servers get the same prompts.
workloads::Salt salt_of_point(const experiments::Group& group, const LoadReuse& reuse) {
  const experiments::ModelChoice& model = group.model;
  Fields settings = {{"model", model.model},
                     {"random_weights", model.random_weights},
                     {"weight_format", model.weight_format ? name_of(*model.weight_format)
                                                           : experiments::kPlainWeights},
                     {"dtype", name_of(group.dtype)}};
  for (const auto& [name, value] : group.axes) settings[name] = value.value();
  return {.scope = scope_of(reuse.allowed),
          .nonce = random_bits(*reuse.nonce, results::hash_bytes(json_text(settings)), 0)};
}

// Prompt tokens of the warm-up and the prefixes, which are sent before the run.
int64_t tokens_before(const serving::ServingPlan& plan) {
  int64_t tokens = 0;
  for (const workloads::ServingRequest& request : plan.options.warmup)
    tokens += std::ssize(request.prompt);
  if (plan.options.primes)
    for (const workloads::DeclaredPrefix& prefix : plan.source->prefixes())
      tokens += std::ssize(prefix.tokens);
  return tokens;
}

// Returns the client's own use of the processor, and adds a reservation if it is high, since a
// server on the same machine competes with the client for cores.
Fields client_use(const CoreUse& use, const serving::RequestLog& log, serving::Verdict& verdict) {
  constexpr double kMostBusy = 0.5;
  int64_t tokens = 0;
  for (const serving::RequestEntry& entry : log.requests) tokens += std::ssize(entry.token_s);
  const double busy_share = use.cpu_ms / (use.wall_ms * cpu_facts().logical_cores);
  if (busy_share > kMostBusy)
    verdict.reservations.push_back(fmt::format(
        "the client was at work for {:.2f} of its cores' time: it may be what limits", busy_share));
  const double cpu_s = std::max(use.cpu_ms, 1.0) * 1e-3;
  return {{"busy_share", busy_share},
          {"waited_for_core_share", use.waited_ms / use.wall_ms},
          {"requests_per_cpu_s", static_cast<double>(log.requests.size()) / cpu_s},
          {"tokens_per_cpu_s", static_cast<double>(tokens) / cpu_s}};
}

// Returns call(). Puts the server's name in front of an error, because several servers may be
// measured.
template <typename Call>
auto naming(const experiments::MethodChoice& server, const std::string& url, Call&& call) {
  try {
    return call();
  } catch (const Error& error) {
    raise("{} ({}): {}", server.label, url, error.what());
  }
}

// Adds the audit, if there was one, and its verdict to the measurement of its point.
void add_audit(const std::optional<Audit>& audited, workloads::SaltScope scope,
               experiments::Measurement& out) {
  if (!audited) return;
  serving::add_to_verdict(judge_audit(*audited, scope), out);
  out.resolved["audit"] = fields_of(*audited);
}

}  // namespace

std::vector<std::string> reuse_names() {
  std::vector<std::string> names;
  for (const auto& [name, scope] : kReuses) names.emplace_back(name);
  return names;
}

experiments::Experiment for_servers(experiments::Experiment experiment,
                                    const std::vector<NamedServer>& servers, const LoadReuse& reuse,
                                    const LoadOptions& options, bool primes) {
  experiment.methods.clear();
  experiment.left_out.clear();
  for (const NamedServer& server : servers) {
    if (!results::is_figure_name(server.label))
      raise(
          "the server's name is \"{}\": it must be 1 to 100 letters, digits, '_', '-' and '.', and "
          "begin with none of '-' and '.'",
          server.label.substr(0, 100));
    for (const experiments::MethodChoice& other : experiment.methods)
      if (other.label == server.label)
        raise("two servers are called \"{}\": give them different names", server.label);
    (void)parse_server_url(server.url);
    Fields point = {{"url", server.url}};
    if (!options.model.empty()) point["model"] = options.model;
    if (reuse.allowed != LoadReuse().allowed) point["reuse"] = reuse.allowed;
    if (reuse.nonce) point["nonce"] = *reuse.nonce;
    if (reuse.audits) point["audit"] = true;
    if (options.form != PromptForm::kTokenIds) point["prompts"] = name_of(options.form);
    if (primes) point["primes"] = true;
    experiment.methods.push_back(
        {.name = server.label, .options = point, .resolved = point, .label = server.label});
  }
  return experiment;
}

LoadKind::LoadKind(serving::PlansServing& plans, LoadOptions options, bool primes, LoadReuse reuse)
    : plans_(plans), options_(std::move(options)), primes_(primes), reuse_(std::move(reuse)) {
  (void)scope_of(reuse_.allowed);
  if (!reuse_.nonce) reuse_.nonce = std::random_device{}();
  const int64_t wanted = kOtherDescriptors + options_.most_connections;
  const int64_t given = raise_descriptor_limit(wanted);
  // With fewer connections the load would not be the requested one.
  if (given < wanted)
    raise(
        "--connections {} takes {} file descriptors, the system gives {}: give fewer, or raise the "
        "limit with ulimit -n",
        options_.most_connections, wanted, given);
}

void LoadKind::check(const experiments::Group& group) {
  plans_.check_plan(group);
  if (plans_.plan(group, {}).source->size() == 0) raise("it has no requests");
}

experiments::MemoryNeed LoadKind::memory_need(const experiments::Group&) {
  return {.bytes = 0, .of_what = "nothing that the server does not hold"};
}

std::vector<experiments::Measurement> LoadKind::measure(const experiments::Group& group,
                                                        const Machine&,
                                                        const std::atomic<bool>& stop) {
  // Each run of a point has its own salt too, because a server remembers the prompts of each run.
  const workloads::Salt salt = salt_of_point(group, reuse_);
  const auto salts_from_the_first = [&salt] {
    return [salt, run = uint64_t{0}]() mutable {
      return workloads::Salt{.scope = salt.scope, .nonce = random_bits(salt.nonce, run++, 0)};
    };
  };
  std::vector<experiments::Measurement> searched;
  for (const experiments::MethodChoice& server : group.methods) {
    std::optional<Audit> audited;  // of the search's first run
    const std::string name = fmt::format("{} {}", group.label, server.label);
    const auto send = [&](serving::ServingPlan& plan) {
      return run_plan(server, name, plan, audited, stop);
    };
    auto found = plans_.search(group, salts_from_the_first(), send, stop);
    if (!found) return measure_in_turn(group, salts_from_the_first(), stop);
    add_audit(audited, salt.scope, *found);
    searched.push_back(std::move(*found));
  }
  return searched;
}

std::vector<experiments::Measurement> LoadKind::measure_in_turn(const experiments::Group& group,
                                                                const Salts& next_salt,
                                                                const std::atomic<bool>& stop) {
  const size_t servers = group.methods.size();
  std::vector<std::optional<experiments::Measurement>> first(servers);
  std::vector<std::optional<Audit>> audited(servers);
  std::vector<std::vector<double>> rates(servers);
  for (int64_t repetition = 0; repetition < group.repetitions; ++repetition) {
    const workloads::Salt salt = next_salt();
    for (size_t turn = 0; turn < servers; ++turn) {
      if (stop) throw Interrupted{};
      const size_t s = (turn + static_cast<size_t>(repetition)) % servers;
      serving::ServingPlan plan = plans_.plan(group, salt);
      const std::string name =
          fmt::format("{} {}, repetition {}", group.label, group.methods[s].label, repetition + 1);
      serving::TrialRun made = run_plan(group.methods[s], name, plan, audited[s], stop);
      rates[s].push_back(made.measured.value(serving::kThroughputRps));
      if (!first[s])
        first[s] = std::move(made.measured);
      else
        serving::add_later_verdict(made.verdict, *first[s]);
    }
  }
  std::vector<experiments::Measurement> measurements;
  for (size_t s = 0; s < servers; ++s) {
    experiments::Measurement& measured = measurements.emplace_back(std::move(*first[s]));
    add_audit(audited[s], scope_of(reuse_.allowed), measured);
    if (group.repetitions > 1) measured.sample(serving::kThroughputRps, rates[s]);
    serving::add_rates(rates[s], rates[0], measured);
  }
  return measurements;
}

serving::TrialRun LoadKind::run_plan(const experiments::MethodChoice& server,
                                     const std::string& name, serving::ServingPlan& plan,
                                     std::optional<Audit>& audited,
                                     const std::atomic<bool>& stop) const {
  LoadOptions options = options_;
  options.place.url = JsonObject(server.options, "the server").string("url");
  options.tokenizer = plan.tokenizer;
  plan.options.stop = &stop;
  plan.options.primes = primes_;
  const serving::SteadyClock clock;
  const ServerFacts facts =
      ask_server(options, short_prompt(options, plan.source->request(0).prompt), clock, stop);
  CompletionClient client(options.place, clock);
  const auto counters_now = [&] {
    return prompt_counters(interruptible(client, stop, [&] { return client.page("/metrics"); }));
  };
  CountersAround counters{.before = counters_now()};
  const auto target = make_server_target(options, facts, clock);
  const workloads::SaltScope scope = scope_of(reuse_.allowed);
  const bool audits = reuse_.audits && !audited;
  // The prompts are made before the run, so that an impossible audit does not waste the run. Their
  // seed is random, because a server that has seen all of the audit's prompts would pass the audit.
  const auto audit_source =
      audits ? audit_prompts(*plan.source, scope, std::random_device{}()) : nullptr;
  const CoreUse use_before = core_use_now();
  serving::RunResult result = naming(server, options.place.url, [&] {
    return serving::run(*target, *plan.source, plan.schedule, plan.options, clock);
  });
  const CoreUse use = core_use_now() - use_before;
  serving::settle_cached_tokens(result.log);
  trace(name, result.log);
  std::string told_by = "nobody";
  if (scope != workloads::SaltScope::kAnything) {
    counters.after = counters_now();
    told_by = judge_reuse(*plan.source, counters, tokens_before(plan),
                          {options.form, facts.template_tokens}, result);
  }
  for (std::string& change : changes_within(result.log))
    result.verdict.reservations.push_back(std::move(change));
  if (audits)
    audited = naming(server, options.place.url,
                     [&] { return audit(*target, *audit_source, clock, stop); });
  Fields used = client_use(use, result.log, result.verdict);
  serving::TrialRun made{
      .verdict = result.verdict,
      .measured = serving::measure(result, {.slo = plan.options.rules.slo,
                                            .is_open_loop = plan.schedule.most_in_flight == 0})};
  const auto told = [](const std::string& text) { return visible(text.substr(0, 1000), ""); };
  made.measured.resolved["server"] = Fields{{"url", options.place.url},
                                            {"model", told(facts.model)},
                                            {"owner", told(facts.owner)},
                                            {"version", told(facts.version)},
                                            {"prompts", name_of(options.form)},
                                            {"reuse", reuse_.allowed},
                                            {"nonce", *reuse_.nonce},
                                            {"reuse_told_by", told_by},
                                            {"takes_extensions", facts.takes_extensions},
                                            {"tells_cached_tokens", facts.tells_cached_tokens},
                                            {"tells_tokens", facts.tells_tokens}};
  made.measured.resolved["client"] = std::move(used);
  return made;
}

}  // namespace reprise::server
