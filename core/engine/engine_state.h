// The internals of the engine: admission, composition, execution and bookkeeping of a step.
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
  std::unique_ptr<reuse::SequenceCache> cache;
  reuse::PrefixKeeper* prefix_keeper;  // the prefix keeper of `cache`, or null
  reuse::Relocatable* relocatable;     // the relocatable interface of `cache`, or null
  EngineOptions options;
  reuse::PoolNeed need;
  int32_t spare_blocks = 0;  // blocks that an admission leaves free while sequences run
  kv::BlockPool pool;
  Sequences sequences;
  NamedPrefixes prefixes;
  Step step;
  SwapSpace swap;
  LogitsObserver observer;
  std::vector<TokenEvent> untold;    // end events that the next step will report
  std::vector<RequestId> to_cancel;  // requests cancelled during the current step
  bool is_stepping = false;
  int64_t computing_ns = 0, swapping_ns = 0;  // real time spent in the current step
  // Counts for StepReport, since the last step that did not throw.
  int32_t preempted = 0, restored_tokens = 0;

  // Buffers of the current step, kept so that they are not allocated again.
  std::vector<RunningSequence> views;  // [running]
  std::vector<int32_t> shares;         // [running]
  std::vector<Sequence*> chosen;       // [parts added to the step]
  std::vector<int32_t> ids, wanted;
  std::vector<TokenDraw> draws;
  std::vector<int32_t> tokens_drawn;  // [draws]
  std::vector<int32_t> first_wanted;  // [batch + 1]  into `wanted`
  std::vector<RequestId> finished;
  std::vector<kv::TokenRun> runs;

  State(const Context& c, std::unique_ptr<StepExecutor> e, std::unique_ptr<reuse::SequenceCache> m,
        const EngineOptions& o);

  [[nodiscard]] int64_t now() const;

  // ---- Before and after a step ----
  void cancel_asked();
  void admit(int64_t now_ns);
  // Asks the method to admit `head`. If it does not, `refusal` says why it never will; an empty
  // `refusal` means that there is no room now.
  reuse::Admission ask_for_cache(const Sequence& head, std::string& refusal);
  void join(Sequence& sequence, const reuse::Admission& admission, int64_t now_ns);
  // Returns how many leading tokens would be reused if `sequence` were admitted now.
  [[nodiscard]] int32_t expected_tokens(const Sequence& sequence) const;
  // Ends a request between steps: returns its cache, and keeps its end event for the next report.
  void end(Sequence& sequence, FinishReason finish, std::string reason, int64_t now_ns);
  // Tells the shaper, if there is one, that a request has ended. Prefixes are never shaped.
  void tell_shaper(RequestId id) const;

  // ---- Composing a step ----
  // Returns false if no sequence runs.
  bool compose(StepReport& report);
  void add_parts();
  void make_room(int64_t now_ns);
  void preempt(Sequence& sequence);
  void swap_out(const Sequence& sequence);
  // Copies kept states back for the tokens that the method has not cached, then drops the kept
  // states. `sequence` has just been admitted.
  void swap_in(Sequence& sequence);
  void list_rows();
  [[nodiscard]] bool shows_all(const Sequence& sequence) const {
    return observer && sequence.request.logits == LogitsMode::kAll;
  }
  // Upper bound on the leading tokens that may be reused. Later tokens are computed, since the
  // observer must see their logits.
  [[nodiscard]] int32_t most_reused(const Sequence& sequence) const {
    return shows_all(sequence) ? sequence.shown : std::numeric_limits<int32_t>::max();
  }
  void list_views();
  [[nodiscard]] StepView view() const;

  // ---- Running a step ----
  void execute(StepReport& report);
  void list_draws();
  [[nodiscard]] std::vector<bool> decoding_parts() const;  // [batch]
  void show() const;
  void advance(StepReport& report);
  // Records `rows` computed rows of a sequence. If no row is pending afterwards, ends the sequence
  // or appends `token`. `token` is -1 if none was drawn, because rows are pending or max_new_tokens
  // is 0.
  void advance(Sequence& sequence, int32_t rows, int32_t token, StepReport& report);
  void forget_finished();

  [[nodiscard]] Sequence& part(size_t i) const {
    return *chosen[static_cast<size_t>(step.order()[i])];
  }
  // True if the step computes the last pending token of the i-th sequence of the batch.
  [[nodiscard]] bool completes(size_t i) const { return step.batch()[i].rows == part(i).pending(); }
  [[nodiscard]] bool draws_from(size_t i) const {
    return completes(i) && part(i).request.max_new_tokens > 0;
  }
};

}  // namespace reprise::engine
