// The insides of the engine: admission, composition, execution and bookkeeping of a step.
#pragma once

#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "core/engine/sampling.h"
#include "core/engine/sequences.h"
#include "core/engine/step.h"

namespace reprise::engine {

[[nodiscard]] int64_t steady_ns();  // of the steady clock

struct Engine::State {
  Context context;
  model::Decoder& decoder;
  std::unique_ptr<reuse::ReuseMethod> method;
  EngineOptions options;
  reuse::PoolNeed need;
  int32_t spare_blocks = 0;  // that an admission leaves free while others run
  kv::BlockPool pool;
  Sequences sequences;
  NamedPrefixes prefixes;
  Step step;
  LogitsObserver observer;
  std::vector<TokenEvent> untold;    // ends that no step's report has had yet
  std::vector<RequestId> to_cancel;  // asked for within the step under way
  bool is_stepping = false;
  int64_t computing_ns = 0;  // real time that the step under way has computed for

  // Of the step under way; kept for their memory.
  std::vector<RunningSequence> views;  // [running]
  std::vector<int32_t> shares;         // [running]
  std::vector<Sequence*> chosen;       // [parts added to the step]
  std::vector<int32_t> ids, wanted;
  std::vector<SampleRow> drawing;
  std::vector<int32_t> tokens_drawn;  // [drawing]
  std::vector<int32_t> drawn;         // [batch]  -1: none is
  std::vector<int32_t> first_wanted;  // [batch + 1]  into `wanted`
  std::vector<float> logits;          // [wanted, vocab]
  std::vector<RequestId> finished;

  State(const Context& c, model::Decoder& d, std::unique_ptr<reuse::ReuseMethod> m,
        const EngineOptions& o);

  [[nodiscard]] int64_t now() const;

  // ---- Before a step, and behind it ----
  void cancel_asked();
  void expire(int64_t now_ns);
  void admit(int64_t now_ns);
  // Ends a request that no step finishes: its cache is given back, its end told by the next report.
  void end(Sequence& sequence, FinishReason finish, std::string reason, int64_t now_ns);

  // ---- Composing it ----
  // False: nothing runs.
  bool compose(StepReport& report);
  void add_parts();
  void make_room(StepReport& report);
  void preempt(Sequence& sequence);
  void list_rows();
  [[nodiscard]] bool shows_all(const Sequence& sequence) const {
    return observer && sequence.request.logits == LogitsMode::kAll;
  }
  void list_views();
  [[nodiscard]] StepView view() const;

  // ---- Running it ----
  void execute(StepReport& report);
  void draw();
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
  [[nodiscard]] bool draws(size_t i) const {
    return completes(i) && part(i).request.max_new_tokens > 0;
  }
  // [vocab] logits of the n-th wanted row.
  [[nodiscard]] std::span<const float> logits_of(int32_t n) const;
};

}  // namespace reprise::engine
