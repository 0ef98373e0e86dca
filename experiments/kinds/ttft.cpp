#include "experiments/kinds/ttft.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "experiments/kinds/costs.h"
#include "experiments/kinds/shared_info.h"
#include "experiments/kinds/undisturbed.h"

namespace reprise::experiments {
namespace {

const MetricInfo kTtftMs = {"ttft_ms", "ms", "from submitting the request to its first token",
                            /*has_percentiles=*/true};
const MetricInfo kTpotMs = {"tpot_ms", "ms", "mean time of a further token (with new_tokens > 1)",
                            /*has_percentiles=*/true};
const MetricInfo kE2eMs = {"e2e_ms", "ms", "from submitting the request to its last token",
                           /*has_percentiles=*/true};
const MetricInfo kPrefillGflopS = {"prefill_gflop_s", "GFLOP/s",
                                   "arithmetic of a prefill without reuse over the TTFT"};
const MetricInfo kComputeLimitRatio = {
    "compute_limit_ratio", "ratio",
    "the same over this machine's measured rate, for methods that reused nothing"};

const MetricInfo kSpeedup = {
    "ttft_speedup", "ratio",
    "the first method's time to first token over this one's, repetition by repetition"};
const MetricInfo kTtftLimitMs = {
    "ttft_limit_ms", "ms",
    "least time for what was not reused: the larger of its arithmetic over this machine's rate "
    "and the bytes of weights and of reused keys and values over the DRAM's"};
const MetricInfo kOverLimit = {"ttft_over_limit", "ratio",
                               "the time to first token over that least time"};
// Of prompt_cache: the parts of its time to first token.
const MetricInfo kLookupMs = {"lookup_ms", "ms", "finding the modules' states, planning apart",
                              /*has_percentiles=*/true};
const MetricInfo kCopyMs = {"copy_ms", "ms",
                            "gathering them in one buffer, where that is asked for",
                            /*has_percentiles=*/true};
const MetricInfo kRepairMs = {"repair_ms", "ms", "computing tokens of modules anew (mode repair)",
                              /*has_percentiles=*/true};
const MetricInfo kComputeMs = {"compute_ms", "ms", "from there to the first token",
                               /*has_percentiles=*/true};
const MetricInfo kCopiedMb = {"copied_mb", "MB", "keys and values copied for each request"};
const MetricInfo kDiskGbS = {"disk_gb_s", "GB/s",
                             "plain reading of the modules' files from the cold disk (tier "
                             "cold_disk)"};
const MetricInfo kModuleMb = {"module_mb", "MB", "states of all modules held"};

const Axis kFreshTokensAxis = {
    .name = "fresh_tokens",
    .fallback = 0,
    .accepted = Integers{0, kMostTokens},
    .unit = "tokens",
    .help =
        "last tokens of a prompt that no other has, which says shared_tokens by the rest; 0: "
        "shared_tokens says it",
    .came_later = true};
const Axis kModulesAxis = {.name = "modules",
                           .fallback = 1,
                           .accepted = Integers{1, 1 << 16},
                           .unit = "modules",
                           .help = "that prompt_cache makes of the shared tokens, of equal length",
                           .came_later = true};

// With shared_tokens said by fresh_tokens where that is given.
Group with_shared_tokens(Group group) {
  const int64_t fresh = group.axis("fresh_tokens"), prompt = group.axis("prompt_tokens");
  if (fresh == 0) return group;
  if (group.axis("shared_tokens") != 0)
    raise("fresh_tokens is {} and shared_tokens {}: give one of them, the other follows", fresh,
          group.axis("shared_tokens"));
  if (fresh > prompt)
    raise("fresh_tokens is {}, but a prompt has {} tokens: set prompt_tokens to at least {}", fresh,
          prompt, fresh);
  group.axes.insert_or_assign("shared_tokens", AxisValue(prompt - fresh));
  return group;
}

struct Samples {
  std::vector<double> ttft_ms, tpot_ms, e2e_ms;
  std::vector<double> lookup_ms, copy_ms, repair_ms, compute_ms;  // of prompt_cache
  int64_t copied_bytes = 0;                                       // of one request
  std::vector<int32_t> tokens;  // of all repetitions, one after another
  Undisturbed taking;
};

// Of one request.
struct Timed {
  int64_t begin_ns;  // submitted, or begun to be prepared
  std::vector<engine::TokenEvent> events;
  prompt_cache::PreparedPrompt prepared = {};
  bool is_prepared = false;
};

double ms(int64_t ns) { return static_cast<double>(ns) * 1e-6; }

// Runs one request to its end.
Timed run_request(engine::Engine& engine, engine::Request request) {
  Timed timed{.begin_ns = now_ns(), .events = {}};
  engine.submit(std::move(request));
  timed.events = engine.run();
  engine::require_served(timed.events);
  REPRISE_CHECK(!timed.events.empty());
  return timed;
}

// The same with modules: of the prompt, what is behind the shared tokens is the request's own.
Timed run_request(const Bench::Lane& lane, const Group& group, int64_t id,
                  const std::vector<int32_t>& prompt) {
  const int64_t new_tokens = group.axis("new_tokens");
  if (lane.modules == nullptr)
    return run_request(*lane.engine, make_request(group, id, prompt, new_tokens));
  const std::vector<int32_t> own(prompt.begin() + group.axis("shared_tokens"), prompt.end());
  prompt_cache::PreparedPrompt prepared;
  const int64_t begin_ns = now_ns();
  engine::Request request = lane.modules->prepare(id, own, new_tokens, prepared);
  request.sampling.seed = group.seeds.sampling;
  Timed timed = run_request(*lane.engine, std::move(request));
  lane.modules->done(id);
  timed.begin_ns = begin_ns;
  timed.prepared = std::move(prepared);
  timed.is_prepared = true;
  return timed;
}

void add(const Timed& timed, Samples* samples) {
  const std::vector<engine::TokenEvent>& events = timed.events;
  const int64_t first_ns = events.front().time_ns, last_ns = events.back().time_ns;
  samples->ttft_ms.push_back(ms(first_ns - timed.begin_ns));
  samples->e2e_ms.push_back(ms(last_ns - timed.begin_ns));
  if (timed.is_prepared) {
    const prompt_cache::PrepareTimes& times = timed.prepared.times;
    samples->lookup_ms.push_back(times.lookup_s * 1e3);
    samples->copy_ms.push_back(times.copy_s * 1e3);
    samples->repair_ms.push_back(times.repair_s * 1e3);
    samples->compute_ms.push_back(
        samples->ttft_ms.back() -
        (times.lookup_s + times.encode_s + times.copy_s + times.repair_s) * 1e3);
    samples->copied_bytes = timed.prepared.copied_bytes;
  }
  if (events.size() > 1)
    samples->tpot_ms.push_back(ms(last_ns - first_ns) / static_cast<double>(events.size() - 1));
  for (const engine::TokenEvent& event : events) samples->tokens.push_back(event.token);
}

// The least time for computing all but `reused` tokens of a prompt.
double limit_ms(const Group& group, const model::ModelConfig& config, int64_t reused,
                const Json& machine) {
  const int64_t tokens = group.axis("prompt_tokens") - reused;
  const double flop = prefill_flop(config, reused, tokens);
  const double bytes = static_cast<double>(streamed_weight_bytes(config, group.dtype, 0) +
                                           reused * kv_bytes_per_token(config, group.kv_dtype));
  const double gflop_s = gflop_limit(machine, group.dtype), gb_s = dram_limit(machine);
  if (gflop_s <= 0 || gb_s <= 0) return 0;
  return 1e-6 * std::max(flop / gflop_s, bytes / gb_s);
}

void add_limit(Measurement& out, const Group& group, const model::ModelConfig& config,
               int64_t reused, const Json& machine) {
  // Experts that a prompt is routed to are not known before.
  if (config.experts.count > 0) return;
  const double limit = limit_ms(group, config, reused, machine);
  if (limit <= 0) return;
  out.set(kTtftLimitMs, limit);
  out.derive(kOverLimit, kTtftMs, [&](double ttft_ms) { return ttft_ms / limit; });
}

// Rates that follow from the TTFT.
void add_rates(Measurement& out, const Group& group, const model::ModelConfig& config,
               const Json& machine) {
  const int64_t tokens = group.axis("prompt_tokens");
  const double flop = prefill_flop(config, 0, tokens);
  out.derive(kPrefillTokensPerS, kTtftMs,
             [&](double ttft_ms) { return static_cast<double>(tokens) / (ttft_ms * 1e-3); });
  out.derive(kPrefillGflopS, kTtftMs, [&](double ttft_ms) { return flop / (ttft_ms * 1e6); });
  // Against the machine's rate stands only arithmetic that was done.
  const auto reused = out.metrics.find(kReusedTokens.name);
  if (reused != out.metrics.end() && (*reused)["value"] > 0) return;
  if (const double limit = gflop_limit(machine, group.dtype); limit > 0)
    out.derive(kComputeLimitRatio, kPrefillGflopS, [&](double gflop_s) { return gflop_s / limit; });
}

void add_modules(Measurement& out, const Samples& samples, const ModuleLane& modules,
                 const Group& group) {
  out.sample(kLookupMs, samples.lookup_ms);
  out.sample(kCopyMs, samples.copy_ms);
  out.sample(kRepairMs, samples.repair_ms);
  out.sample(kComputeMs, samples.compute_ms);
  out.set(kCopiedMb, static_cast<double>(samples.copied_bytes) * 1e-6);
  out.set(kModuleMb, static_cast<double>(modules.module_bytes()) * 1e-6);
  if (const double gb_s = modules.disk_gb_s(); gb_s > 0) out.set(kDiskGbS, gb_s);
  // One module that stands first is a prefix; several do not see each other.
  if (group.axis("modules") > 1) out.resolved["exactness"] = "approximate";
}

// The first method's times over those of `samples`, whose repetitions took turns.
std::vector<double> speedups(const Samples& first, const Samples& samples) {
  std::vector<double> ratios;
  for (size_t r = 0; r < std::min(first.ttft_ms.size(), samples.ttft_ms.size()); ++r)
    ratios.push_back(first.ttft_ms[r] / samples.ttft_ms[r]);
  return ratios;
}

Measurement measurement_of(const Samples& samples, const Bench::Lane& lane, const Group& group,
                           const model::Decoder& decoder, const Json& machine) {
  engine::Engine& engine = *lane.engine;
  Measurement out;
  const int64_t requests = group.repetitions + group.warmup + samples.taking.retaken();
  out.metrics = method_metrics(engine, group, requests);
  if (lane.modules != nullptr)
    out.set(kReusedTokens, static_cast<double>(requests * group.axis("shared_tokens")));
  out.set(kPrefixMs, lane.prefix_ms);
  out.sample(kTtftMs, samples.ttft_ms);
  out.sample(kTpotMs, samples.tpot_ms);
  out.sample(kE2eMs, samples.e2e_ms);
  add_rates(out, group, decoder.config(), machine);
  const auto reused = out.metrics.find(kReusedTokens.name);
  const double reused_total = reused == out.metrics.end() ? 0 : (*reused)["value"].get<double>();
  add_limit(out, group, decoder.config(),
            static_cast<int64_t>(reused_total / static_cast<double>(requests)), machine);
  out.resolved = resolved_settings(engine, decoder);
  if (lane.modules != nullptr) add_modules(out, samples, *lane.modules, group);
  out.memory = memory_of(engine);
  samples.taking.add_to(out);
  return out;
}

}  // namespace

KindInfo TtftKind::info() {
  return {.name = "ttft",
          .summary = "one request at a time: time to first token, then time per further token",
          .axes = {kPromptTokensAxis,
                   {.name = "new_tokens",
                    .fallback = 1,
                    .accepted = Integers{1, kMostNewTokens},
                    .unit = "tokens",
                    .help = "tokens to generate, the first included"},
                   kPrefillChunkAxis,
                   kSharedTokensAxis,
                   kFreshTokensAxis,
                   kModulesAxis},
          .metrics = {kTtftMs, kTpotMs, kE2eMs, kPrefixMs, kPrefillTokensPerS, kPrefillGflopS,
                      kComputeLimitRatio, kSpeedup, kTtftLimitMs, kOverLimit, kLookupMs, kCopyMs,
                      kRepairMs, kComputeMs, kCopiedMb, kDiskGbS, kModuleMb, kKvMb},
          .own_methods = {prompt_cache_method()}};
}

void TtftKind::check(const Group& given) {
  const Group group = with_shared_tokens(given);
  bench_.check(group);
  const int64_t shared = group.axis("shared_tokens");
  for (const MethodChoice& method : group.methods) {
    if (method.name != kPromptCache) continue;
    if (shared == 0 || shared == group.axis("prompt_tokens"))
      raise(
          "prompt_cache imports the shared tokens and computes the others: of {} tokens, {} are "
          "shared; set fresh_tokens to at least 1 and less than prompt_tokens",
          group.axis("prompt_tokens"), shared);
    if (group.axis("modules") > shared)
      raise("modules is {}, but there are {} shared tokens: a module has at least one",
            group.axis("modules"), shared);
  }
}

MemoryNeed TtftKind::memory_need(const Group& given) {
  const Group group = with_shared_tokens(given);
  int64_t module_tokens = 0;  // all lanes are there at once
  for (const MethodChoice& method : group.methods)
    if (method.name == kPromptCache)
      module_tokens += ModuleLane::held_tokens(method.options, group.axis("shared_tokens"),
                                               group.axis("modules"));
  return memory_of_prompts(group, 1, module_tokens);
}

std::vector<Measurement> TtftKind::measure(const Group& given, const Json& machine,
                                           const std::atomic<bool>& stop) {
  const Group group = with_shared_tokens(given);
  bench_.use_calibration(machine);
  const std::vector<Bench::Lane> lanes = bench_.make_lanes(group, /*max_batch=*/1, stop);
  const model::Decoder& decoder = bench_.decoder(group);
  std::vector<Samples> samples(lanes.size());
  for (Samples& of_method : samples) of_method.taking = Undisturbed(group.repetitions);
  for (int64_t r = -group.warmup; r < group.repetitions; ++r) {
    const bool is_warmup = r < 0;
    const int64_t request = is_warmup ? group.repetitions - r : r;
    const std::vector<int32_t> prompt = bench_.prompt(group, request);
    for (size_t m = 0; m < lanes.size(); ++m) {
      if (stop) throw Interrupted{};
      const auto run = [&] { return run_request(lanes[m], group, request, prompt); };
      if (is_warmup) {
        run();
      } else {
        const auto prepare = [&] {
          if (lanes[m].modules != nullptr) lanes[m].modules->make_cold();
        };
        add(samples[m].taking.take(prepare, run), &samples[m]);
      }
    }
  }

  return measurements_of(group, samples, [&](size_t m) {
    Measurement out = measurement_of(samples[m], lanes[m], group, decoder, machine);
    if (m > 0) out.sample(kSpeedup, speedups(samples[0], samples[m]));
    return out;
  });
}

}  // namespace reprise::experiments
