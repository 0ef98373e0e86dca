#include "experiments/kinds/serving/load_kind.h"

#include "core/base/descriptors.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/random.h"
#include "core/base/visible.h"
#include "experiments/serving/metrics.h"
#include "experiments/serving/run.h"
#include "results/hash.h"
#include "results/manifest.h"

namespace reprise::server {

namespace serving = experiments::serving;

namespace {

// A seed for each point, because a server cannot be made to forget the prompts of the point before.
// It does not depend on the group's id, which contains the server's name, so that all servers get
// the same prompts.
uint64_t seed_of_point(const experiments::Group& group) {
  Fields axes;
  for (const auto& [name, value] : group.axes) axes[name] = value.value();
  return random_bits(group.seeds.prompts, results::hash_bytes(json_text(axes)), 0) >> 32;
}

}  // namespace

experiments::Experiment for_server(experiments::Experiment experiment, const std::string& label) {
  if (!results::is_figure_name(label))
    raise(
        "the server's name is \"{}\": it must be 1 to 100 letters, digits, '_', '-' and '.', and "
        "begin with none of '-' and '.'",
        label.substr(0, 100));
  experiment.methods = {{.name = label}};
  experiment.left_out.clear();
  return experiment;
}

LoadKind::LoadKind(serving::PlansServing& plans, LoadOptions options, bool primes,
                   bool repeats_prompts)
    : plans_(plans),
      options_(std::move(options)),
      primes_(primes),
      repeats_prompts_(repeats_prompts) {
  const int64_t wanted = kOtherDescriptors + options_.most_connections;
  const int64_t given = raise_descriptor_limit(wanted);
  // Fewer connections would be another load than the one requested.
  if (given < wanted)
    raise(
        "--connections {} takes {} file descriptors, the system gives {}: give fewer, or raise the "
        "limit with ulimit -n",
        options_.most_connections, wanted, given);
}

void LoadKind::check(const experiments::Group& group) {
  REPRISE_CHECK(group.methods.size() == 1, "{} methods on one server", group.methods.size());
  if (plans_.plan(group).source->size() == 0) raise("it has no requests");
}

experiments::MemoryNeed LoadKind::memory_need(const experiments::Group&) {
  return {.bytes = 0, .of_what = "nothing that the server does not hold"};
}

std::vector<experiments::Measurement> LoadKind::measure(const experiments::Group& group,
                                                        const Machine&,
                                                        const std::atomic<bool>& stop) {
  experiments::Group asked = group;
  if (!repeats_prompts_) asked.seeds.prompts = seed_of_point(group);
  serving::ServingPlan plan = plans_.plan(asked);
  options_.tokenizer = plan.tokenizer;
  const serving::SteadyClock clock;
  const ServerFacts facts = ask_server(options_, {plan.source->request(0).prompt.front()}, clock);
  const auto target = make_server_target(options_, facts, clock);
  plan.options.stop = &stop;
  plan.options.primes = primes_;
  const serving::RunResult result =
      serving::run(*target, *plan.source, plan.schedule, plan.options, clock);
  experiments::Measurement measured = serving::measure(
      result, {.slo = plan.options.rules.slo, .is_open_loop = plan.schedule.most_in_flight == 0});
  measured.resolved["server"] = Fields{{"url", options_.place.url},
                                       {"model", visible(facts.model.substr(0, 1000), "")},
                                       {"prompts", options_.sends_text ? "text" : "token ids"},
                                       {"prompts_seed", asked.seeds.prompts},
                                       {"takes_extensions", facts.takes_extensions},
                                       {"tells_cached_tokens", facts.tells_cached_tokens}};
  return {std::move(measured)};
}

}  // namespace reprise::server
