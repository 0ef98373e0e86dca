#include "core/engine/engine.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "core/base/error.h"
#include "core/base/steady_now.h"
#include "core/engine/engine_state.h"
#include "core/engine/request_check.h"

namespace reprise::engine {
namespace {

void check(const EngineOptions& options) {
  if (options.limits.max_batch <= 0)
    raise("max_batch is {}, it must be at least 1", options.limits.max_batch);
  if (options.limits.max_sequence_tokens <= 0)
    raise("max_sequence_tokens is {}, it must be at least 1", options.limits.max_sequence_tokens);
  if (options.step_tokens <= 0)
    raise("step_tokens (the prefill budget) is {}, it must be at least 1", options.step_tokens);
  if (options.num_blocks < 0)
    raise("num_blocks is {}, it must be at least 1, or 0 for what the method needs",
          options.num_blocks);
  if (options.kv_budget_bytes < 0)
    raise("kv_budget_bytes is {}, it must be at least 1, or 0 for no budget",
          options.kv_budget_bytes);
  if (!(options.watermark_ratio >= 0 && options.watermark_ratio < 1))
    raise("watermark_ratio is {}, it must be at least 0 and below 1", options.watermark_ratio);
}

// Throws Error if the cache, the policy or a contributor does not support a batch-invariant
// context.
void check_batch_invariance(const reuse::SequenceCache& cache, const EngineOptions& options) {
  if (options.policy != nullptr || !options.contributors.empty())
    raise(
        "a batch-invariant engine takes no layer policy and no imported states: their attention is "
        "divided in other ways");
  if (const std::string reason = cache.why_not_batch_invariant(); !reason.empty())
    raise("the cache cannot serve a batch-invariant engine: {}", reason);
}

}  // namespace

Engine::Engine(const Context& context, model::Decoder& decoder,
               std::unique_ptr<reuse::SequenceCache> cache, const EngineOptions& options)
    : Engine(context, std::make_unique<DecoderExecutor>(context, decoder, options.policy),
             std::move(cache), options) {}

Engine::Engine(const Context& context, std::unique_ptr<StepExecutor> executor,
               std::unique_ptr<reuse::SequenceCache> cache, const EngineOptions& options) {
  check(options);
  if (context.is_batch_invariant) check_batch_invariance(*cache, options);
  const model::ModelConfig& config = executor->config();
  cache->tune({.heads = config.heads,
               .kv_heads = config.kv_heads,
               .head_dim = config.head_dim,
               .kv_dtype = options.kv_dtype,
               .context = context});
  EngineOptions resolved = options;
  if (!resolved.scheduler) resolved.scheduler = std::make_shared<FirstComeScheduler>();
  state_ = std::make_unique<State>(context, std::move(executor), std::move(cache), resolved);
}

Engine::~Engine() {
  for (const Sequence* sequence : state_->sequences.running())
    state_->cache->retire(sequence->request.id, state_->pool);
  for (const RequestId id : state_->sequences.ids()) state_->tell_shaper(id);
}

void Engine::submit(Request request) {
  State& s = *state_;
  if (request.id < 0) raise("request id {} is below 0: those are the engine's own", request.id);
  if (s.sequences.contains(request.id))
    raise("request id {} is in use already: give each request its own", request.id);
  const int64_t now_ns = s.now();
  std::vector<int32_t> submitted_prompt;
  if (s.options.shaper != nullptr) {
    const TokenRules* rules = request.sampling.rules.get();
    if (rules != nullptr && rules->repetition_penalty != 1.0) submitted_prompt = request.prompt;
    s.options.shaper->shape(request);
    if (submitted_prompt == request.prompt) submitted_prompt.clear();
  }
  const bool is_of_prefill_alone =
      s.options.policy != nullptr && s.options.policy->is_of_prefill_alone();
  std::string refusal =
      refusal_of(fmt::format("request {}", request.id), request, s.executor->config(),
                 {.max_sequence_tokens = s.options.limits.max_sequence_tokens,
                  .is_of_prefill_alone = is_of_prefill_alone,
                  .is_batch_invariant = s.context.is_batch_invariant});
  if (refusal.empty()) {
    s.sequences.add(std::move(request), now_ns).submitted_prompt = std::move(submitted_prompt);
    return;
  }
  s.tell_shaper(request.id);
  const int64_t intended = request.arrival_ns == kNotYet ? now_ns : request.arrival_ns;
  s.untold.push_back({.request = request.id,
                      .time_ns = now_ns,
                      .finish = FinishReason::kRefused,
                      .times = {.intended = intended, .submitted = now_ns, .done = now_ns},
                      .reason = std::move(refusal)});
}

bool Engine::cancel(RequestId id) {
  State& s = *state_;
  if (id < 0 || !s.sequences.contains(id)) return false;
  if (s.is_stepping) {
    s.to_cancel.push_back(id);
    return true;
  }
  std::erase(s.to_cancel, id);  // asked for in a step that failed
  s.end(s.sequences.at(id), FinishReason::kCancelled, "", s.now());
  return true;
}

void Engine::declare_prefix(const std::string& name, std::vector<int32_t> tokens) {
  State& s = *state_;
  REPRISE_CHECK(!s.is_stepping, "prefix \"{}\" declared within a step", name);
  s.prefixes.check_new(name);
  if (const RequestId same = s.prefixes.find(tokens); same != 0) {
    s.prefixes.name(name, same);
    return;
  }
  // An imported prefix does not count towards max_sequence_tokens.
  const bool is_imported = s.options.shaper != nullptr && s.options.shaper->imports_prefixes();
  Request request{.id = s.prefixes.next_id(), .prompt = tokens, .max_new_tokens = 0};
  const std::string refusal =
      refusal_of(fmt::format("prefix \"{}\"", name), request, s.executor->config(),
                 {.max_sequence_tokens = is_imported ? std::numeric_limits<int32_t>::max()
                                                     : s.options.limits.max_sequence_tokens});
  if (!refusal.empty()) raise("{}", refusal);
  const RequestId id = request.id;
  const bool is_kept = !is_imported && s.prefix_keeper != nullptr;
  if (is_kept) s.prefix_keeper->declare_prefix(id, tokens);
  s.prefixes.add(id, {.tokens = std::move(tokens), .is_kept = is_kept, .is_ready = !is_kept});
  s.prefixes.name(name, id);
  if (is_kept) s.sequences.add(std::move(request), s.now());
}

void Engine::drop_prefix(const std::string& name) {
  State& s = *state_;
  REPRISE_CHECK(!s.is_stepping, "prefix \"{}\" dropped within a step", name);
  const RequestId id = s.prefixes.unname(name);
  if (s.prefixes.at(id).names > 0) return;
  if (s.sequences.contains(id)) s.end(s.sequences.at(id), FinishReason::kCancelled, "", s.now());
  if (s.prefixes.at(id).is_kept) s.prefix_keeper->drop_prefix(id, s.pool);
  s.prefixes.erase(id);
}

std::vector<PrefixInfo> Engine::prefixes() const {
  std::vector<PrefixInfo> infos;
  for (const auto& [name, id] : state_->prefixes.names()) {
    const NamedPrefixes::Prefix& prefix = state_->prefixes.at(id);
    const reuse::PrefixUse use =
        prefix.is_kept ? state_->prefix_keeper->prefix_use(id) : reuse::PrefixUse{};
    infos.push_back({.name = name,
                     .tokens = static_cast<int64_t>(prefix.tokens.size()),
                     .bytes = use.blocks * state_->pool.block_bytes(),
                     .users = use.users,
                     .is_ready = prefix.is_ready});
  }
  return infos;
}

StepReport Engine::step() {
  State& s = *state_;
  StepReport report;
  const int64_t begin_ns = steady_now_ns();
  s.computing_ns = s.swapping_ns = 0;
  report.start_ns = s.now();
  s.cancel_asked();  // requests whose cancellation was asked for in a step that then failed
  s.admit(report.start_ns);
  struct Stepping {
    State& s;
    explicit Stepping(State& state) : s(state) { s.is_stepping = true; }
    ~Stepping() { s.is_stepping = false; }
  };
  const bool has_rows = s.compose(report);
  const std::ptrdiff_t earlier = std::ssize(s.untold);  // kept until the step has succeeded
  if (has_rows) {
    const Stepping stepping(s);
    s.execute(report);
  } else {
    report.end_ns = s.now();
  }
  s.cancel_asked();
  // The id of a request that ended before this step may be that of a request of this step.
  const auto later = s.untold.begin() + earlier;
  report.events.insert(report.events.begin(), std::move_iterator(s.untold.begin()),
                       std::move_iterator(later));
  std::move(later, s.untold.end(), std::back_inserter(report.events));
  s.untold.clear();
  report.preempted = std::exchange(s.preempted, 0);
  report.restored_tokens = std::exchange(s.restored_tokens, 0);
  report.waiting = static_cast<int32_t>(s.sequences.waiting());
  report.used_blocks = s.pool.used_blocks();
  report.kv_bytes = s.pool.used_bytes();
  report.swapping_ns = s.swapping_ns;
  report.scheduling_ns = steady_now_ns() - begin_ns - s.computing_ns - s.swapping_ns;
  return report;
}

void Engine::observe_logits(LogitsObserver observer) { state_->observer = std::move(observer); }

bool Engine::has_work() const { return !state_->sequences.empty() || !state_->untold.empty(); }

std::vector<TokenEvent> Engine::run() {
  std::vector<TokenEvent> events;
  while (has_work()) {
    StepReport report = step();
    std::move(report.events.begin(), report.events.end(), std::back_inserter(events));
  }
  return events;
}

const kv::BlockPool& Engine::pool() const { return state_->pool; }
const SwapStats& Engine::swap_stats() const { return state_->swap.stats(); }
reuse::SequenceCache& Engine::cache() { return *state_->cache; }
const EngineOptions& Engine::options() const { return state_->options; }
int64_t Engine::now_ns() const { return state_->now(); }

}  // namespace reprise::engine
