#include "experiments/kinds/latency/pml_kind.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/problems.h"
#include "core/device/buffer.h"
#include "core/reuse/options.h"
#include "experiments/framework/shared_info.h"
#include "experiments/kinds/latency/timed_request.h"
#include "experiments/kinds/latency/use_case.h"
#include "experiments/kinds/shared/answer_comparison.h"
#include "experiments/kinds/shared/costs.h"
#include "methods/prompt_cache/prompt_cache.h"
#include "methods/registry.h"

namespace reprise::experiments {
namespace {

namespace cache = prompt_cache;

constexpr const char* kBaseline = "baseline";

const MetricInfo kImportedTokens = {"imported_tokens", "tokens",
                                    "of the prompt, whose keys and values are there already"};
const MetricInfo kComputedTokens = {"computed_tokens", "tokens",
                                    "of the prompt, that each request computes"};
const MetricInfo kSameTokens = {
    "same_tokens_ratio", "ratio",
    "share of repetitions that generate the first method's tokens, one by one"};
const MetricInfo kFirstDivergence = {
    "first_divergence", "tokens",
    "generated that are the first method's, where not all are: of the last repetition"};
const MetricInfo kPositions = {
    "prompt_positions", "positions",
    "to the prompt's end by its schema, with the gaps of what it does not import"};

struct BaselineOptions {
  std::string positions = "compact";

  void visit(reuse::OptionVisitor& visitor) {
    visitor.word({"positions", "",
                  "of the tokens: 0, 1, 2, ... as the released code compares with, or the schema's "
                  "with their gaps, which Prompt Cache has"},
                 {"compact", "gapped"}, positions);
  }
};

cache::Positions positions_of(const MethodChoice& baseline) {
  const auto options =
      reuse::read_options<BaselineOptions>(baseline.options, "options of series \"baseline\"");
  return options.positions == "compact" ? cache::Positions::kCompact : cache::Positions::kGapped;
}

Series baseline_series() {
  return {.name = kBaseline,
          .help = "the whole prompt computed, nothing imported",
          .resolve_options =
              [](const JsonObject& given) {
                return reuse::options_fields(reuse::read_options<BaselineOptions>(given));
              },
          .list_options = reuse::list_options<BaselineOptions>};
}

// The method that computes the whole prompt.
class Baseline final : public methods::Method {
 public:
  [[nodiscard]] const methods::MethodInfo& info() const override { return info_; }
  [[nodiscard]] methods::Parts parts() override { return {}; }

 private:
  methods::MethodInfo info_{.name = kBaseline};
};

// One method, ready to take turns.
struct UseCaseLane {
  std::unique_ptr<methods::Method> method = {};
  engine::Request request = {};
  // The prompt's tokens that each request computes, and those whose states are imported. They
  // depend on the method, which may lay the prompt out by other rules than UseCaseRun does.
  int64_t computed_tokens = 0, imported_tokens = 0;
  bool imports = false;
  double prefix_ms = 0;  // time to encode the modules
  std::unique_ptr<engine::Engine> engine = {};
};

class UseCaseRun {
 public:
  UseCaseRun(const Group& group, Bench& bench)
      : group_(group),
        axes_(group.axes_as<PmlAxes>()),
        case_(load_use_case(group)),
        bench_(bench) {}

  [[nodiscard]] const CompiledPml& use_case() const { return case_; }
  [[nodiscard]] const pml::CompiledPrompt& prompt() const { return *case_.prompt; }

  UseCaseLane make_lane(const MethodChoice& method) {
    UseCaseLane lane;
    if (method.name == kBaseline) {
      lane.method = std::make_unique<Baseline>();
      const cache::PreparedPrompt whole{
          .fresh = cache::whole_prompt(case_.schema, prompt(), positions_of(method))};
      cache::place(whole, lane.request);
    } else {
      lane.method = methods::make_method(method.name, method.options);
      const PmlFiles files = use_case_files(group_);
      const methods::Markup markup = markup_of(files, *case_.tokenizer);
      const int64_t begin_ns = now_ns();
      lane.method->prepare(
          bench_.setup_of(group_, axes_, {.device = bench_.context().device, .markup = &markup}));
      lane.prefix_ms = ms_of(now_ns() - begin_ns);
      std::optional<engine::Request> request =
          lane.method->read(read_file(files.prompt), files.prompt);
      if (!request) raise("{} is no prompt: its root element must be <prompt>", files.prompt);
      lane.request = std::move(*request);
      lane.imports = true;
    }
    const auto all_tokens = std::ssize(lane.request.prompt);
    lane.computed_tokens =
        lane.request.markup ? lane.request.markup->computed_tokens() : all_tokens;
    lane.imported_tokens = all_tokens - lane.computed_tokens;
    lane.request.max_new_tokens = static_cast<int32_t>(axes_.new_tokens);
    lane.request.sampling.seed = group_.seeds.sampling;
    lane.engine = bench_.make_engine(
        group_, axes_, *lane.method,
        {.max_sequence_tokens = static_cast<int32_t>(lane.computed_tokens + axes_.new_tokens)});
    return lane;
  }

  TimedRequest run(const UseCaseLane& lane, int64_t id) const {
    engine::Request request = lane.request;
    request.id = id;
    return run_timed(*lane.method, *lane.engine, std::move(request));
  }

 private:
  const Group& group_;
  const PmlAxes axes_;
  CompiledPml case_;
  Bench& bench_;
};

// The tokens of the last repetition.
std::vector<int32_t> last_answer(const RequestSamples& samples, int64_t new_tokens) {
  return {samples.tokens.end() - new_tokens, samples.tokens.end()};
}

// Share of repetitions in which the method's tokens equal the first method's tokens.
double same_tokens_ratio(const RequestSamples& first, const RequestSamples& samples,
                         int64_t new_tokens) {
  REPRISE_CHECK(first.tokens.size() == samples.tokens.size());
  const auto repetitions = static_cast<int64_t>(samples.tokens.size()) / new_tokens;
  int64_t same = 0;
  for (int64_t r = 0; r < repetitions; ++r)
    same += std::equal(samples.tokens.begin() + r * new_tokens,
                       samples.tokens.begin() + (r + 1) * new_tokens,
                       first.tokens.begin() + r * new_tokens);
  return static_cast<double>(same) / static_cast<double>(repetitions);
}

void add_agreement(Measurement& out, const RequestSamples& first, const RequestSamples& samples,
                   int64_t new_tokens) {
  out.set(kSameTokens, same_tokens_ratio(first, samples, new_tokens));
  const auto parted =
      first_divergence(last_answer(first, new_tokens), last_answer(samples, new_tokens));
  if (parted) out.set(kFirstDivergence, static_cast<double>(*parted));
}

Fields resolved_of(const UseCaseLane& lane, const UseCaseRun& run, const model::Decoder& decoder) {
  Fields out = resolved_settings(*lane.engine, decoder, lane.method->exactness());
  out["modules"] = std::ssize(run.use_case().schema.modules) - 1;
  out["imported_modules"] = std::ssize(run.prompt().modules) - 1;
  out["chat_template"] = run.use_case().schema.chat_template;
  out["characters_read_as_text"] = std::ssize(run.use_case().notes);
  return out;
}

Measurement measurement_of(const RequestSamples& samples, const UseCaseLane& lane,
                           const UseCaseRun& run, const model::Decoder& decoder) {
  Measurement out;
  samples.taking.add_to(out);
  add_times(samples, out);
  add_report(*lane.method, out);
  if (lane.imports) out.set(kPrefixMs, lane.prefix_ms);
  out.set(kImportedTokens, static_cast<double>(lane.imported_tokens));
  out.set(kComputedTokens, static_cast<double>(lane.computed_tokens));
  out.set(kPositions,
          static_cast<double>(lane.imports ? engine::prompt_end(lane.request) : run.prompt().end));
  update(out.resolved, resolved_of(lane, run, decoder));
  out.memory = memory_of(*lane.engine);
  return out;
}

// True if a method of the group reads schema and prompt by the released code's rules.
bool reads_as_coded(const Group& group) {
  return std::any_of(group.methods.begin(), group.methods.end(), [](const MethodChoice& method) {
    return text_of(method.resolved, "rules") == "as_coded";
  });
}

void require_room(const Group& group, const CompiledPml& use_case) {
  const model::ModelConfig config = Bench::config(group);
  const int64_t new_tokens = group.axes_as<PmlAxes>().new_tokens;
  const int64_t end = use_case.prompt->end + new_tokens;
  if (!group.model.random_weights && !can_place(config, end))
    raise(
        "model {} places at most {} tokens, and the prompt with its {} new tokens ends at {}: "
        "set new_tokens lower, or take a model with more positions",
        config.name, config.max_positions, new_tokens, end);
}

}  // namespace

KindInfo PmlKind::info() {
  KindInfo info{
      .name = "pml",
      .summary =
          "a prompt derived from a schema: time to first token with its modules imported "
          "and with all of it computed, and whether the texts agree",
      .axes = list_axes<PmlAxes>(),
      .metrics = {kTtftMs, kTpotMs, kE2eMs, kTtftSpeedup, kComputeMs, kPrefixMs, kImportedTokens,
                  kComputedTokens, kPositions, kSameTokens, kFirstDivergence},
      .series = {baseline_series()},
      .method_use = MethodUse::kMarkup,
      .own_workloads = use_case_workloads()};
  add_method_metrics(MethodUse::kMarkup, /*takes_turns=*/true, info.metrics);
  return info;
}

void PmlKind::check(const Group& group) {
  Problems problems;
  for (const MethodChoice& method : group.methods)
    if (method.name != kBaseline)
      problems.collect([&] {
        methods::make_method(method.name, method.options)
            ->check({.device = bench_.context().device, .has_turns = true});
      });
  // A model that is missing must not hide files that are missing, too.
  problems.collect([&] { (void)use_case_files(group); });
  problems.collect([&] {
    bench_.check_model(group);
    require_room(group, load_use_case(group));
    if (reads_as_coded(group)) require_room(group, load_use_case(group, /*is_as_coded=*/true));
  });
  problems.raise_if_any();
}

MemoryNeed PmlKind::memory_need(const Group& group) {
  const CompiledPml use_case = load_use_case(group);
  // Each method has a cache for one prompt. Methods that import modules also hold the states of the
  // schema's modules.
  const int64_t new_tokens = group.axes_as<PmlAxes>().new_tokens;
  int64_t tokens = (use_case.prompt->end + new_tokens) * std::ssize(group.methods);
  const methods::Markup markup = markup_of(use_case_files(group), *use_case.tokenizer);
  for (const MethodChoice& method : group.methods)
    if (method.name != kBaseline)
      tokens += methods::make_method(method.name, method.options)->held_tokens({.markup = &markup});
  return memory_of_model(Bench::config(group), group.weight_type(), group.kv_dtype, tokens);
}

std::vector<Measurement> PmlKind::measure(const Group& group, const Machine& machine,
                                          const std::atomic<bool>& stop) {
  bench_.use_calibration(machine);
  AlignedBuffer::reset_peak();
  UseCaseRun run(group, bench_);
  std::vector<UseCaseLane> lanes;
  for (const MethodChoice& method : group.methods) {
    if (stop) throw Interrupted{};
    lanes.push_back(run.make_lane(method));
  }
  std::vector<RequestSamples> samples = samples_for(group, bench_.context());
  for (int64_t r = -group.warmup; r < group.repetitions; ++r) {
    const int64_t request = r < 0 ? group.repetitions - r : r;
    for (size_t m = 0; m < lanes.size(); ++m) {
      begin_turn(group, r, m, stop);
      take_turn(/*is_warmup=*/r < 0, *lanes[m].method, samples[m],
                [&] { return run.run(lanes[m], request); });
    }
  }

  const int64_t new_tokens = group.axes_as<PmlAxes>().new_tokens;
  std::vector<Measurement> measurements = measurements_of(group, samples, [&](size_t m) {
    Measurement out = measurement_of(samples[m], lanes[m], run, bench_.decoder(group));
    if (m > 0) add_speedup(samples[0], samples[m], out);
    add_agreement(out, samples[0], samples[m], new_tokens);
    return out;
  });
  for (size_t m = 0; m < measurements.size(); ++m)
    measurements[m].answers["text"] =
        run.use_case().tokenizer->decode(last_answer(samples[m], new_tokens));
  return measurements;
}

}  // namespace reprise::experiments
