// The questions of a group of kind "accuracy" as tokens of the group's model. They are made once
// and serve the checks, the memory estimate and the measurement of the group.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/model/config/config.h"
#include "core/tokenizer/tokenizer.h"
#include "experiments/framework/kind.h"
#include "experiments/framework/shared_info.h"
#include "experiments/kinds/accuracy/item_prompt.h"
#include "experiments/kinds/shared/mmlu_axes.h"
#include "workloads/questions/item.h"

namespace reprise::experiments {

// The axes of kind "accuracy". QuestionChoice and ItemLayout explain their values.
struct AccuracyAxes : StepAxes, MmluAxes {
  std::string task = "all";
  int64_t items = 0;
  std::string grouping = "documents";
  std::string scaffold = "all";
  int64_t documents = 20;
  int64_t most_prompt_tokens = 0;  // 0: prompts are not cut
  std::string truncation = "official";
  int64_t most_answer_tokens = 0;
  std::string chat_template = "none";
  double repair_ratio = 0.15;

  void visit(AxisVisitor& visitor);

 private:
  void visit_questions(AxisVisitor& visitor);
  void visit_lengths(AxisVisitor& visitor);
};

struct GroupQuestions {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::vector<workloads::questions::Item> items;  // the questions, after cutting long prompts
  std::vector<ItemPrompt> prompts;                // [items]
  int64_t cut = 0;                                // items that were cut

  // The most tokens that a question takes: its whole prompt and its longest possible answer.
  [[nodiscard]] int64_t longest() const;
};

// The group's questions. With "most_prompt_tokens", the middle is cut out of prompts that have more
// tokens, or that exceed the model's positions together with their answers. Throws Error as
// load_questions() does, for settings of the cut that contradict each other, and for a question
// that exceeds the model's positions together with its answer.
[[nodiscard]] GroupQuestions questions_of(const Group& group, const model::ModelConfig& config,
                                          std::shared_ptr<const Tokenizer> tokenizer);

// Makes the questions of a group at its first call for that group, and keeps them until take().
// Keeps at most about 400 MB; take() makes questions again that were not kept.
class QuestionShelf {
 public:
  // Returns GroupQuestions::longest(). Throws Error as questions_of().
  int64_t longest(const Group& group);
  // Returns the group's questions and no longer keeps them. Throws Error as questions_of().
  GroupQuestions take(const Group& group);

 private:
  GroupQuestions make(const Group& group);

  std::map<std::string, std::shared_ptr<const Tokenizer>> tokenizers_;  // by model
  std::map<std::string, int64_t> longest_;                              // by group id
  std::map<std::string, GroupQuestions> kept_;                          // by group id
  int64_t kept_tokens_ = 0;  // tokens of all prompts in kept_
};

}  // namespace reprise::experiments
