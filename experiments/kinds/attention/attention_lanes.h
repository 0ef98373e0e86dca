// The operators of a group's methods for one problem, all kept at the same decode step. Also checks
// the operators' outputs.
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
  AttentionLanes(const AttentionLanes&) = delete;  // operators keep a reference to values_
  AttentionLanes& operator=(const AttentionLanes&) = delete;

  [[nodiscard]] size_t size() const { return operators_.size(); }
  [[nodiscard]] AttentionOperator& operator[](size_t method) { return *operators_[method]; }
  [[nodiscard]] const AttentionOperator& operator[](size_t method) const {
    return *operators_[method];
  }
  // The decode step that all sequences have reached; -1: no sequence has generated a token yet.
  [[nodiscard]] int64_t step() const { return step_; }
  // Number of keys that each sequence's query sees in a step.
  [[nodiscard]] int64_t keys_at(int64_t step) const { return problem_.prompt_tokens + step + 1; }

  // Advances all operators to `step`. Returns false if they have reached it already.
  bool advance_to(int64_t step);
  void settle();
  // Runs every operator once and compares its outputs with ExactAttention. Throws Error naming the
  // method, the sequence and the head if an exact method differs by more than rounding explains, or
  // if an approximate method's outputs are not finite.
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

// Returns the problem with a single head of keys and values, in the dtype that rounds finest on
// `device`: f32 on the CPU, f16 on a GPU. Returns nullopt if the problem has that dtype already. A
// check in f32 finds every key that a plan leaves out or reads twice; a check in bf16 misses two of
// five such faults in a head of 1000 keys, since rounding hides them.
[[nodiscard]] std::optional<AttentionProblem> finest_shadow(const AttentionProblem& problem,
                                                            Device device);

}  // namespace reprise::experiments
