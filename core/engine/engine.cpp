#include "core/engine/engine.h"

#include <algorithm>
#include <chrono>
#include <deque>

#include "core/base/error.h"
#include "core/engine/sampling.h"

namespace reprise::engine {
namespace {

int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Sequence {
  Request request;
  std::vector<int32_t> tokens;     // prompt, then generated
  std::vector<int32_t> positions;  // of tokens
  int32_t computed = 0;            // leading tokens whose keys and values the next row may read
  int32_t next_position = 0;
  bool in_decode = false;

  [[nodiscard]] int32_t pending() const { return static_cast<int32_t>(tokens.size()) - computed; }
  [[nodiscard]] int32_t generated() const {
    return static_cast<int32_t>(tokens.size()) - static_cast<int32_t>(request.prompt.size());
  }
};

// A sequence's share of the step under way.
struct Chosen {
  int64_t rank = 0;
  Sequence* sequence = nullptr;
  int32_t rows = 0;
};

kv::BlockPool make_pool(const model::ModelConfig& config, const reuse::ReuseMethod& method,
                        const EngineOptions& options) {
  reuse::EngineLimits limits = options.limits;
  limits.step_rows = std::max(options.prefill_chunk, limits.max_batch);
  const reuse::PoolNeed need = method.pool_need(limits);
  return kv::BlockPool({.layers = config.layers,
                        .kv_heads = config.kv_heads,
                        .head_dim = config.head_dim,
                        .dtype = options.kv_dtype,
                        .block_tokens = need.block_tokens,
                        .num_blocks = need.num_blocks});
}

}  // namespace

struct Engine::State {
  Context context;
  model::Decoder& decoder;
  std::unique_ptr<reuse::ReuseMethod> method;
  EngineOptions options;
  kv::BlockPool pool;
  std::deque<Request> waiting;
  std::vector<std::unique_ptr<Sequence>> running;  // in order of admission
  RequestId last_prefix_id = -1;                   // declared prefixes count down from here
  LogitsObserver observer;

  // Of the step under way; kept for their memory.
  std::vector<Chosen> chosen;
  std::vector<reuse::StepSequence> batch;  // of `chosen`
  std::vector<int32_t> ids, wanted, drawn;
  std::vector<SampleRow> draws;
  std::vector<float> logits;
  kv::AttentionPlan plan;

  State(const Context& c, model::Decoder& d, std::unique_ptr<reuse::ReuseMethod> m,
        const EngineOptions& o)
      : context(c),
        decoder(d),
        method(std::move(m)),
        options(o),
        pool(make_pool(d.config(), *method, o)) {}

  [[nodiscard]] int64_t now() const { return options.clock_ns ? options.clock_ns() : steady_ns(); }

  void admit() {
    while (!waiting.empty() && running.size() < static_cast<size_t>(options.limits.max_batch)) {
      // Out of the queue before anything can throw: a request that cannot be served is refused once
      // and does not stand in the way of the others.
      Request request = std::move(waiting.front());
      waiting.pop_front();
      const reuse::Admission admission = method->admit({.id = request.id,
                                                        .tokens = request.prompt,
                                                        .positions = request.positions,
                                                        .max_new_tokens = request.max_new_tokens},
                                                       pool);
      if (!admission.admitted) {
        if (running.empty())
          raise(
              "request {} of {} tokens does not fit into an empty KV cache of {} blocks of {} "
              "tokens",
              request.id, request.prompt.size(), pool.options().num_blocks,
              pool.options().block_tokens);
        waiting.push_front(std::move(request));
        return;
      }
      auto sequence = std::make_unique<Sequence>();
      sequence->request = std::move(request);
      sequence->tokens = sequence->request.prompt;
      sequence->positions = sequence->request.positions;
      if (sequence->positions.empty())
        for (int32_t i = 0; i < static_cast<int32_t>(sequence->tokens.size()); ++i)
          sequence->positions.push_back(i);
      sequence->next_position =
          *std::max_element(sequence->positions.begin(), sequence->positions.end()) + 1;
      // The last prompt token is always computed: its logits give the first new token.
      sequence->computed =
          std::min(admission.reused_tokens, static_cast<int32_t>(sequence->tokens.size()) - 1);
      running.push_back(std::move(sequence));
    }
  }

  // Sequences with more than one pending token come first, as many rows as the chunk allows; else
  // all decode together. Rows lie in the method's order.
  void compose() {
    chosen.clear();
    const bool any_prefill = std::any_of(running.begin(), running.end(), [](const auto& sequence) {
      return sequence->pending() > 1;
    });
    int32_t budget = any_prefill ? options.prefill_chunk : static_cast<int32_t>(running.size());
    for (const auto& sequence : running) {
      if (budget == 0) break;
      if (any_prefill && sequence->pending() <= 1 && sequence->in_decode) continue;
      const int32_t rows = std::min(budget, sequence->pending());
      chosen.push_back({method->row_rank(sequence->request.id), sequence.get(), rows});
      budget -= rows;
    }
    std::stable_sort(chosen.begin(), chosen.end(),
                     [](const Chosen& a, const Chosen& b) { return a.rank < b.rank; });
    batch.clear();
    ids.clear();
    wanted.clear();
    for (const Chosen& part : chosen) {
      const Sequence& sequence = *part.sequence;
      batch.push_back({.id = sequence.request.id,
                       .first_row = static_cast<int32_t>(ids.size()),
                       .rows = part.rows,
                       .first_token = sequence.computed,
                       .positions = sequence.positions,
                       .tokens = sequence.tokens});
      ids.insert(ids.end(), sequence.tokens.begin() + sequence.computed,
                 sequence.tokens.begin() + sequence.computed + part.rows);
      if (part.rows == sequence.pending()) wanted.push_back(static_cast<int32_t>(ids.size()) - 1);
    }
  }

  // Whether the step computes the last token that the i-th sequence of the batch has.
  [[nodiscard]] bool completes(size_t i) const {
    return chosen[i].rows == chosen[i].sequence->pending();
  }

  // Draws the next token of every sequence that the step completes. All of them before any sequence
  // moves on: where one cannot be drawn (NaN), the step throws and has changed nothing.
  void draw() {
    draws.clear();
    for (size_t i = 0; i < batch.size(); ++i) {
      if (!completes(i)) continue;
      const Sequence& sequence = *chosen[i].sequence;
      draws.push_back({.options = &sequence.request.sampling,
                       .request = sequence.request.id,
                       .index = sequence.generated()});
    }
    drawn.resize(draws.size());
    sample_rows(logits, draws, drawn, context);
  }

  // [vocab] logits of the step's token `n`.
  [[nodiscard]] std::span<const float> logits_of(size_t n) const {
    const auto vocab = static_cast<size_t>(decoder.config().vocab);
    return std::span(logits).subspan(n * vocab, vocab);
  }

  void show_logits() const {
    if (!observer) return;
    size_t next_drawn = 0;
    for (size_t i = 0; i < batch.size(); ++i)
      if (completes(i))
        observer(batch[i].id, chosen[i].sequence->generated(), logits_of(next_drawn++));
  }

  // Advances a sequence whose rows are computed; `token` follows if they complete it. Returns
  // whether it has finished.
  bool advance(Sequence& sequence, const reuse::StepSequence& part, int32_t token,
               StepReport& report) const {
    (sequence.in_decode ? report.decode_tokens : report.prefill_tokens) += part.rows;
    sequence.computed += part.rows;
    if (sequence.pending() > 0) return false;
    const Request& request = sequence.request;
    const int32_t index = sequence.generated();
    const bool stops = std::find(request.stop_ids.begin(), request.stop_ids.end(), token) !=
                       request.stop_ids.end();
    const FinishReason finish = stops                                 ? FinishReason::kStop
                                : index + 1 >= request.max_new_tokens ? FinishReason::kLength
                                                                      : FinishReason::kNone;
    report.events.push_back(
        {.request = request.id, .token = token, .index = index, .finish = finish});
    if (finish != FinishReason::kNone) return true;
    sequence.tokens.push_back(token);
    sequence.positions.push_back(sequence.next_position++);
    sequence.in_decode = true;
    sequence.computed = method->cached_tokens(request.id, sequence.computed);
    return false;
  }
};

Engine::Engine(const Context& context, model::Decoder& decoder,
               std::unique_ptr<reuse::ReuseMethod> method, const EngineOptions& options) {
  if (options.limits.max_batch <= 0)
    raise("max_batch is {}, it must be at least 1", options.limits.max_batch);
  if (options.limits.max_sequence_tokens <= 0)
    raise("max_sequence_tokens is {}, it must be at least 1", options.limits.max_sequence_tokens);
  if (options.prefill_chunk <= 0)
    raise("prefill_chunk is {}, it must be at least 1", options.prefill_chunk);
  const model::ModelConfig& config = decoder.config();
  method->tune({.heads = config.heads,
                .kv_heads = config.kv_heads,
                .head_dim = config.head_dim,
                .kv_dtype = options.kv_dtype,
                .context = context});
  state_ = std::make_unique<State>(context, decoder, std::move(method), options);
}

Engine::~Engine() {
  for (const auto& sequence : state_->running)
    state_->method->retire(sequence->request.id, state_->pool);
}

void Engine::submit(Request request) {
  const model::ModelConfig& config = state_->decoder.config();
  const auto prompt_tokens = static_cast<int64_t>(request.prompt.size());
  if (prompt_tokens == 0)
    raise("request {} has an empty prompt: give at least one token", request.id);
  if (request.max_new_tokens < 1)
    raise("request {} asks for {} new tokens: ask for at least 1", request.id,
          request.max_new_tokens);
  const int64_t limit = state_->options.limits.max_sequence_tokens;
  if (prompt_tokens + request.max_new_tokens > limit)
    raise("request {} needs {} prompt + {} new tokens, the engine was made for sequences of {}",
          request.id, prompt_tokens, request.max_new_tokens, limit);
  for (int32_t id : request.prompt)
    if (id < 0 || id >= config.vocab)
      raise("request {}: token id {} is outside {}'s vocabulary of {}", request.id, id, config.name,
            config.vocab);
  if (!request.positions.empty() && request.positions.size() != request.prompt.size())
    raise("request {} has {} tokens and {} positions: give one for each token, or none", request.id,
          prompt_tokens, request.positions.size());
  // 2^24: beyond it an f32 no longer holds every whole number (ALiBi distances).
  constexpr int32_t kLastPosition = (1 << 24) - 1;
  for (int32_t position : request.positions)
    if (position < 0 || position > kLastPosition - request.max_new_tokens)
      raise("request {}: position {} is outside [0, {}]", request.id, position,
            kLastPosition - request.max_new_tokens);
  validate(request.sampling);
  const auto has_its_id = [&](const Request& other) { return other.id == request.id; };
  if (std::any_of(state_->waiting.begin(), state_->waiting.end(), has_its_id) ||
      std::any_of(state_->running.begin(), state_->running.end(),
                  [&](const auto& sequence) { return has_its_id(sequence->request); }))
    raise("request id {} is in use already: give each request its own", request.id);
  state_->waiting.push_back(std::move(request));
}

void Engine::declare_prefix(std::vector<int32_t> tokens) {
  State& s = *state_;
  if (has_work())
    raise("a prefix was declared while {} requests wait or run: declare prefixes first",
          s.waiting.size() + s.running.size());
  const RequestId id = --s.last_prefix_id;
  if (!s.method->wants_prefix(id, tokens)) return;
  Request request;
  request.id = id;
  request.prompt = std::move(tokens);
  request.max_new_tokens = 1;
  submit(std::move(request));
  run();
}

StepReport Engine::step() {
  State& s = *state_;
  StepReport report;
  report.start_ns = s.now();
  s.admit();
  if (s.running.empty()) {
    report.end_ns = s.now();
    return report;
  }
  s.compose();
  s.method->reserve(s.batch, s.pool);
  s.method->plan(s.batch, s.pool, s.plan);
  s.logits.resize(s.wanted.size() * static_cast<size_t>(s.decoder.config().vocab));
  s.decoder.forward({.ids = s.ids, .plan = s.plan, .logit_rows = s.wanted}, {.logits = s.logits});
  s.draw();
  s.show_logits();
  s.method->computed(s.batch, s.pool);
  std::vector<RequestId> finished;
  size_t next_drawn = 0;
  for (size_t i = 0; i < s.batch.size(); ++i) {
    const int32_t token = s.completes(i) ? s.drawn[next_drawn++] : -1;
    if (s.advance(*s.chosen[i].sequence, s.batch[i], token, report))
      finished.push_back(s.batch[i].id);
  }
  report.end_ns = s.now();
  for (TokenEvent& event : report.events) event.time_ns = report.end_ns;
  for (RequestId id : finished) {
    s.method->retire(id, s.pool);
    std::erase_if(s.running, [&](const auto& sequence) { return sequence->request.id == id; });
  }
  return report;
}

void Engine::observe_logits(LogitsObserver observer) { state_->observer = std::move(observer); }

bool Engine::has_work() const { return !state_->waiting.empty() || !state_->running.empty(); }

std::vector<TokenEvent> Engine::run() {
  std::vector<TokenEvent> events;
  while (has_work()) {
    const StepReport report = step();
    events.insert(events.end(), report.events.begin(), report.events.end());
  }
  return events;
}

const kv::BlockPool& Engine::pool() const { return state_->pool; }
reuse::ReuseMethod& Engine::method() { return *state_->method; }
const EngineOptions& Engine::options() const { return state_->options; }

}  // namespace reprise::engine
