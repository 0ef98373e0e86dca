// The insides of the engine: admission, composition, execution and bookkeeping of a step.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "core/engine/sequences.h"
#include "core/engine/step.h"
#include "core/engine/step_executor.h"
#include "core/engine/swap_space.h"

namespace reprise::engine {

struct Engine::State {
  Context context;
  std::unique_ptr<StepExecutor> executor;
  std::unique_ptr<reuse::ReuseMethod> method;
  EngineOptions options;
  reuse::PoolNeed need;
  int32_t spare_blocks = 0;  // that an admission leaves free while others run
  kv::BlockPool pool;
  Sequences sequences;
  NamedPrefixes prefixes;
  Step step;
  SwapSpace swap;
  LogitsObserver observer;
  std::vector<TokenEvent> untold;    // ends that no step's report has had yet
  std::vector<RequestId> to_cancel;  // asked for within the step under way
  bool is_stepping = false;
  int64_t computing_ns = 0, swapping_ns = 0;  // real time of the step under way

  // Of the step under way; kept for their memory.
  std::vector<RunningSequence> views;  // [running]
  std::vector<int32_t> shares;         // [running]
  std::vector<Sequence*> chosen;       // [parts added to the step]
  std::vector<int32_t> ids, wanted;
  std::vector<TokenDraw> draws;
  std::vector<int32_t> tokens_drawn;  // [draws]
  std::vector<int32_t> first_wanted;  // [batch + 1]  into `wanted`
  std::vector<RequestId> finished;
  std::vector<kv::TokenRun> runs;

  State(const Context& c, std::unique_ptr<StepExecutor> e, std::unique_ptr<reuse::ReuseMethod> m,
        const EngineOptions& o);

  [[nodiscard]] int64_t now() const;

  // ---- Before a step, and behind it ----
  void cancel_asked();
  void expire(int64_t now_ns);
  void admit(StepReport& report);
  // Not admitted: there is no room now, or `refusal` says why there never is.
  reuse::Admission ask_for_cache(const Sequence& head, std::string& refusal);
  void join(Sequence& sequence, const reuse::Admission& admission, StepReport& report);
  // Leading tokens of a sequence that would not be computed if it were admitted now.
  [[nodiscard]] int32_t expected_tokens(const Sequence& sequence) const;
  // Ends a request that no step finishes: its cache is given back, its end told by the next report.
  void end(Sequence& sequence, FinishReason finish, std::string reason, int64_t now_ns);

  // ---- Composing it ----
  // False: nothing runs.
  bool compose(StepReport& report);
  void add_parts();
  void make_room(StepReport& report);
  void preempt(Sequence& sequence);
  void swap_out(const Sequence& sequence);
  // Of a sequence that was admitted just now: writes back what the method does not have, and
  // forgets what was kept.
  void swap_in(Sequence& sequence, StepReport& report);
  void list_rows();
  [[nodiscard]] bool shows_all(const Sequence& sequence) const {
    return observer && sequence.request.logits == LogitsMode::kAll;
  }
  // Leading tokens of it that need not be computed, wherever they are found.
  [[nodiscard]] int32_t most_reused(const Sequence& sequence) const {
    return shows_all(sequence) ? sequence.shown : std::numeric_limits<int32_t>::max();
  }
  void list_views();
  [[nodiscard]] StepView view() const;

  // ---- Running it ----
  void execute(StepReport& report);
  void list_draws();
  [[nodiscard]] std::vector<bool> decoding_parts() const;  // [batch]
  void show() const;
  void advance(StepReport& report);
  // Moves a sequence past its computed rows; `token` follows if they complete it and one is drawn.
  void advance(Sequence& sequence, int32_t rows, int32_t token, StepReport& report);
  void forget_finished();

  [[nodiscard]] Sequence& part(size_t i) const {
    return *chosen[static_cast<size_t>(step.order()[i])];
  }
  // Whether the step computes the last token that the i-th sequence of the batch has.
  [[nodiscard]] bool completes(size_t i) const { return step.batch()[i].rows == part(i).pending(); }
  [[nodiscard]] bool draws_from(size_t i) const {
    return completes(i) && part(i).request.max_new_tokens > 0;
  }
};

}  // namespace reprise::engine
