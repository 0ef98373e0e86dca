#include "core/engine/engine_state.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/steady_now.h"
#include "core/engine/pool_size.h"

namespace reprise::engine {
namespace {

std::string described(const Sequence& sequence, const NamedPrefixes& prefixes) {
  if (sequence.is_prefix()) return "prefix " + prefixes.names_of(sequence.request.id);
  return fmt::format("request {}", sequence.request.id);
}

std::string cache_left(const kv::BlockPool& pool) {
  return fmt::format("{} of {} blocks of {} tokens ({} bytes each) are free for it",
                     pool.free_blocks(), pool.options().num_blocks, pool.options().block_tokens,
                     pool.block_bytes());
}

}  // namespace

Engine::State::State(const Context& c, std::unique_ptr<StepExecutor> e,
                     std::unique_ptr<reuse::SequenceCache> m, const EngineOptions& o)
    : context(c),
      executor(std::move(e)),
      cache(std::move(m)),
      prefix_keeper(cache->prefix_keeper()),
      relocatable(cache->relocatable()),
      options(o),
      need(cache->pool_need(o.limits)),
      pool(pool_options(*cache, need, *executor, o)),
      sequences(*options.scheduler,
                [this](const Sequence& sequence) { return expected_tokens(sequence); }),
      step(*cache, pool),
      swap(o.swap) {
  if (pool.options().num_blocks < need.num_blocks)
    spare_blocks =
        std::max(1, static_cast<int32_t>(std::ceil(o.watermark_ratio * pool.options().num_blocks)));
  for (const auto& contributor : options.contributors) step.add_contributor(*contributor);
}

int64_t Engine::State::now() const {
  return options.clock_ns ? options.clock_ns() : steady_now_ns();
}

// ---- Before and after a step ----

void Engine::State::cancel_asked() {
  for (RequestId id : to_cancel)
    if (sequences.contains(id)) end(sequences.at(id), FinishReason::kCancelled, "", now());
  to_cancel.clear();
}

void Engine::State::admit(int64_t now_ns) {
  const auto most = static_cast<size_t>(options.limits.max_batch);
  if (!sequences.has_waiting() || sequences.running().size() >= most) return;
  list_views();
  while (sequences.has_waiting() && views.size() < most) {
    Sequence& head = sequences.head(now_ns);
    if (!options.scheduler->admits(head.waiting(), view())) {
      REPRISE_CHECK(!views.empty(), "the scheduler admits nobody and nobody runs");
      return;
    }
    std::string refusal;
    const reuse::Admission admission = ask_for_cache(head, refusal);
    if (admission.admitted) {
      join(head, admission, now_ns);
      continue;
    }
    if (refusal.empty() && !views.empty()) return;
    if (refusal.empty())
      refusal = fmt::format(
          "{} of {} tokens does not fit into the KV cache with nothing else running: {}",
          described(head, prefixes), head.tokens.size(), cache_left(pool));
    end(head, FinishReason::kRefused, std::move(refusal), now_ns);
  }
}

reuse::Admission Engine::State::ask_for_cache(const Sequence& head, std::string& refusal) {
  try {
    return cache->admit({.id = head.request.id,
                         .tokens = head.compared_tokens(),
                         .positions = head.positions,
                         .max_new_tokens = head.request.max_new_tokens - head.generated(),
                         .spare_blocks = views.empty() ? 0 : spare_blocks,
                         .most_reused_tokens = most_reused(head)},
                        pool);
  } catch (const Error& error) {
    refusal = error.what();
    return {};
  }
}

void Engine::State::join(Sequence& sequence, const reuse::Admission& admission, int64_t now_ns) {
  // The last token is always computed, since its logits give the next one.
  sequence.computed =
      std::min(admission.reused_tokens, static_cast<int32_t>(sequence.tokens.size()) - 1);
  if (sequence.times.admitted == kNotYet) {
    sequence.times.admitted = now_ns;
    sequence.cached_tokens = sequence.computed + sequence.request.imported_tokens;
  }
  swap_in(sequence);
  sequence.is_decoding = sequence.generated() > 0 && sequence.pending() == 1;
  sequences.start(sequence);
  views.push_back(sequence.running());
}

void Engine::State::end(Sequence& sequence, FinishReason finish, std::string reason,
                        int64_t now_ns) {
  const RequestId id = sequence.request.id;
  if (sequence.is_running) cache->retire(id, pool);
  swap.drop(id);
  sequence.times.done = now_ns;
  if (!sequence.is_prefix() || finish == FinishReason::kRefused) {
    untold.push_back(sequence.last_event(finish));
    untold.back().reason = std::move(reason);
  }
  const bool is_refused_prefix = sequence.is_prefix() && finish == FinishReason::kRefused;
  sequences.remove(id);
  tell_shaper(id);
  if (!is_refused_prefix) return;
  prefix_keeper->drop_prefix(id, pool);
  prefixes.erase(id);
}

// ---- Composing a step ----

void Engine::State::list_views() {
  views.clear();
  for (const Sequence* sequence : sequences.running()) views.push_back(sequence->running());
}

StepView Engine::State::view() const {
  return {.running = views,
          .step_tokens = options.step_tokens,
          .free_blocks = pool.free_blocks(),
          .num_blocks = pool.options().num_blocks};
}

bool Engine::State::compose(StepReport& report) {
  while (!sequences.running().empty()) {
    add_parts();
    step.arrange();
    if (step.reserve()) {
      list_rows();
      report.batch = static_cast<int32_t>(sequences.running().size());
      return true;
    }
    make_room(report.start_ns);
  }
  return false;
}

void Engine::State::add_parts() {
  list_views();
  shares.assign(views.size(), 0);
  options.scheduler->share(view(), shares);
  step.clear();
  chosen.clear();
  for (size_t i = 0; i < shares.size(); ++i) {
    Sequence& sequence = *sequences.running()[i];
    REPRISE_CHECK(0 <= shares[i] && shares[i] <= sequence.pending(), "{} rows of {} pending ones",
                  shares[i], sequence.pending());
    if (shares[i] == 0) continue;
    chosen.push_back(&sequence);
    step.add({.id = sequence.request.id,
              .rows = shares[i],
              .first_token = sequence.computed,
              .positions = sequence.positions,
              .tokens = sequence.compared_tokens(),
              .length = sequence.length,
              .is_consecutive = sequence.is_consecutive});
  }
  REPRISE_CHECK(!chosen.empty(), "the scheduler gives no rows to {} sequences", views.size());
}

// Called if blocks are missing: preempts one sequence, or ends the only one that runs.
void Engine::State::make_room(int64_t now_ns) {
  if (views.size() == 1) {
    Sequence& last = *sequences.running()[0];
    std::string reason = fmt::format(
        "{} stopped after {} of {} new tokens: the next step does not fit into the KV cache with "
        "nothing else running: it holds {} blocks, and {}",
        described(last, prefixes), last.generated(), last.request.max_new_tokens,
        cache->held_blocks(last.request.id), cache_left(pool));
    end(last, FinishReason::kRefused, std::move(reason), now_ns);
    return;
  }
  for (RunningSequence& running : views) running.blocks = cache->held_blocks(running.id);
  const size_t victim = options.scheduler->victim(view());
  REPRISE_CHECK(victim < views.size(), "victim {} of {}", victim, views.size());
  preempt(*sequences.running()[victim]);
  ++preempted;
}

// Lists the rows' tokens and the rows whose logits are needed, for the decoder.
void Engine::State::list_rows() {
  ids.clear();
  wanted.clear();
  first_wanted.assign(1, 0);
  for (size_t i = 0; i < step.batch().size(); ++i) {
    const reuse::StepSequence& of = step.batch()[i];
    const Sequence& sequence = part(i);
    const auto first = sequence.tokens.begin() + of.first_token;
    ids.insert(ids.end(), first, first + of.rows);
    if (shows_all(sequence))
      for (int32_t row = std::max(0, sequence.shown - of.first_token); row + 1 < of.rows; ++row)
        wanted.push_back(of.first_row + row);
    const bool shows_last = shows_all(sequence) && of.first_token + of.rows > sequence.shown;
    if (shows_last || draws_from(i)) wanted.push_back(of.first_row + of.rows - 1);
    first_wanted.push_back(static_cast<int32_t>(wanted.size()));
  }
}

// ---- Running a step ----

// All tokens are drawn before any sequence advances, so that a step that throws (NaN) changes
// nothing.
void Engine::State::execute(StepReport& report) {
  const kv::AttentionPlan& plan = step.plan();
  const PlanReads reads = step.reads(decoding_parts(), executor->config().sliding_window);
  report.read_bytes = reads.tokens * (pool.block_bytes() / pool.options().block_tokens);
  report.shared_tokens = reads.spared_tokens;
  report.repeated_tokens = reads.repeated_tokens;
  list_draws();
  const int64_t begin_ns = steady_now_ns();
  executor->execute({.ids = ids, .plan = plan, .logit_rows = wanted, .draws = draws}, tokens_drawn);
  show();
  computing_ns = steady_now_ns() - begin_ns;
  step.computed();
  report.end_ns = now();
  advance(report);
  report.peak_kv_bytes = pool.used_bytes();
  forget_finished();
}

std::vector<bool> Engine::State::decoding_parts() const {
  std::vector<bool> decoding;
  for (size_t i = 0; i < step.batch().size(); ++i) decoding.push_back(part(i).is_decoding);
  return decoding;
}

// Lists a draw for every sequence that the step completes.
void Engine::State::list_draws() {
  draws.clear();
  for (size_t i = 0; i < step.batch().size(); ++i) {
    if (!draws_from(i)) continue;
    const Sequence& sequence = part(i);
    const auto prompt_tokens = static_cast<size_t>(sequence.prompt_tokens);
    const std::span<const int32_t> tokens = sequence.tokens;
    const std::span<const int32_t> submitted = sequence.submitted_prompt;
    draws.push_back({.wanted = first_wanted[i + 1] - 1,
                     .options = &sequence.request.sampling,
                     .request = sequence.request.id,
                     .index = sequence.generated(),
                     .prompt = submitted.empty() ? tokens.first(prompt_tokens) : submitted,
                     .generated = tokens.subspan(prompt_tokens)});
  }
  tokens_drawn.resize(draws.size());
}

void Engine::State::show() const {
  if (!observer) return;
  for (size_t i = 0; i < step.batch().size(); ++i) {
    const Sequence& sequence = part(i);
    if (sequence.request.logits == LogitsMode::kNone) continue;
    const reuse::StepSequence& of = step.batch()[i];
    for (int32_t n = first_wanted[i]; n < first_wanted[i + 1]; ++n) {
      const bool is_drawn = draws_from(i) && n + 1 == first_wanted[i + 1];
      observer({.request = of.id,
                .token = of.first_token + wanted[static_cast<size_t>(n)] - of.first_row,
                .index = is_drawn ? sequence.generated() : -1,
                .logits = executor->logits(n)});
    }
  }
}

void Engine::State::advance(StepReport& report) {
  finished.clear();
  size_t next = 0;
  for (size_t i = 0; i < step.batch().size(); ++i) {
    const int32_t token = draws_from(i) ? tokens_drawn[next++] : -1;
    advance(part(i), step.batch()[i].rows, token, report);
  }
}

void Engine::State::advance(Sequence& sequence, int32_t rows, int32_t token, StepReport& report) {
  (sequence.is_decoding ? report.decode_tokens : report.prefill_tokens) += rows;
  sequence.computed += rows;
  sequence.shown = std::max(sequence.shown, sequence.computed);
  if (sequence.pending() > 0) return;
  const Request& request = sequence.request;
  const int32_t index = sequence.generated();
  FinishReason finish =
      index + 1 >= request.max_new_tokens ? FinishReason::kLength : FinishReason::kNone;
  if (std::find(request.stop_ids.begin(), request.stop_ids.end(), token) != request.stop_ids.end())
    finish = FinishReason::kStop;
  RequestTimes& times = sequence.times;
  if (token >= 0 && times.first_token == kNotYet) times.first_token = report.end_ns;
  if (finish != FinishReason::kNone) {
    times.done = report.end_ns;
    finished.push_back(request.id);
    if (sequence.is_prefix()) return;
    report.events.push_back(sequence.last_event(finish));
    report.events.back().token = token;
    return;
  }
  report.events.push_back({.request = request.id,
                           .token = token,
                           .index = index,
                           .time_ns = report.end_ns,
                           .preemptions = sequence.preemptions});
  sequence.append(token);
  sequence.is_decoding = true;
  sequence.computed = cache->cached_tokens(request.id, sequence.computed);
}

void Engine::State::forget_finished() {
  for (RequestId id : finished) {
    if (id < 0) {
      prefix_keeper->keep_prefix(id, pool);
      prefixes.at(id).is_ready = true;
    } else {
      cache->retire(id, pool);
    }
  }
  sequences.remove_running(finished);
  for (const RequestId id : finished) tell_shaper(id);
}

void Engine::State::tell_shaper(RequestId id) const {
  if (options.shaper != nullptr && id >= 0) options.shaper->done(id);
}

}  // namespace reprise::engine
