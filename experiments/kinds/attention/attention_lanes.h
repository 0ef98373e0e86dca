// The operators of a group's methods at one problem, all in the same decode step, and the judge of
// what comes out of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/framework/kind.h"
#include "experiments/kinds/attention/attention_operator.h"

namespace reprise::experiments {

class AttentionLanes {
 public:
  // `group` must outlive this. Throws as make_operators().
  AttentionLanes(const Group& group, const AttentionProblem& problem, const Context& context);
  AttentionLanes(const AttentionLanes&) = delete;  // operators keep a reference to values
  AttentionLanes& operator=(const AttentionLanes&) = delete;

  [[nodiscard]] size_t size() const { return operators_.size(); }
  [[nodiscard]] AttentionOperator& operator[](size_t method) { return *operators_[method]; }
  [[nodiscard]] const AttentionOperator& operator[](size_t method) const {
    return *operators_[method];
  }
  // That the sequences are in; -1: none has generated a token yet.
  [[nodiscard]] int64_t step() const { return step_; }
  // Keys that each sequence's query sees in a step.
  [[nodiscard]] int64_t keys_at(int64_t step) const { return problem_.prompt_tokens + step + 1; }

  // Whether there was any step to go.
  bool advance_to(int64_t step);
  void settle();
  // Runs every operator once and compares all that comes out with the definition. Throws Error
  // naming the method, the sequence and the head where rounding does not explain what is off. A
  // method that approximates may be off, but its outputs are finite.
  void validate();
  [[nodiscard]] const Deviation& deviation(size_t method) const { return deviations_[method]; }

 private:
  void require_right(size_t method, const Deviation& deviation) const;

  const Group& group_;
  AttentionProblem problem_;
  TokenValues values_;
  Context context_;
  int64_t step_ = -1;
  std::vector<std::unique_ptr<AttentionOperator>> operators_;
  std::vector<Deviation> deviations_;
};

// The same sequences with one head of keys and values, in the type that rounds finest on `device`:
// f32 on the CPU, which hides no key that a plan leaves out or reads twice (in bf16 a single head
// hides two of five among 1000), and f16 on a GPU. Nothing for a problem in that type, which says
// so itself.
[[nodiscard]] std::optional<AttentionProblem> finest_shadow(const AttentionProblem& problem,
                                                            Device device);

}  // namespace reprise::experiments
