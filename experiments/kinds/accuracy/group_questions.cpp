#include "experiments/kinds/accuracy/group_questions.h"

#include <algorithm>
#include <iterator>

#include "core/base/error.h"
#include "experiments/framework/shared_info.h"
#include "experiments/kinds/accuracy/question_files.h"
#include "experiments/kinds/accuracy/user_turn.h"
#include "experiments/kinds/shared/bench.h"
#include "experiments/kinds/shared/costs.h"
#include "workloads/questions/cut_item.h"

namespace reprise::experiments {
namespace {

namespace questions = workloads::questions;
using questions::Item;

constexpr const char* kOfModel = "model";

template <size_t kCount>
Words words(const char* const (&names)[kCount]) {
  return {{std::begin(names), std::end(names)}};
}

// Converts the word of an axis to the enum value at its place in `names`.
template <typename Enum, size_t kCount>
Enum enum_of(const std::string& word, const char* const (&names)[kCount]) {
  const auto found = std::find(std::begin(names), std::end(names), word);
  REPRISE_CHECK(found != std::end(names), "there is no {}", word);
  return static_cast<Enum>(found - std::begin(names));
}

// The most tokens that can follow a question's prompt.
int64_t behind(const Item& item, const ItemPrompt& prompt) {
  return std::max(item.most_answer_tokens, prompt.longest_choice());
}

std::vector<Item> items_of(const Group& group, const AccuracyAxes& axes,
                           questions::Grouping grouping) {
  return load_questions(group.workload, {.task = axes.task,
                                         .items = axes.items,
                                         .mmlu = axes.mmlu,
                                         .answer_tokens = axes.most_answer_tokens,
                                         .cuts_documents = grouping != questions::Grouping::kWhole,
                                         .documents = axes.documents,
                                         .seed = group.seeds.prompts});
}

// Compiles items to prompts for one model.
class Compiler {
 public:
  Compiler(const Group& group, const AccuracyAxes& axes, const model::ModelConfig& config,
           const Tokenizer& tokenizer)
      : config_(config),
        tokenizer_(tokenizer),
        encoder_(pml::encoder_of(tokenizer)),
        layout_{.grouping = enum_of<questions::Grouping>(axes.grouping, questions::kGroupingNames),
                .scaffolds = enum_of<ScaffoldSets>(axes.scaffold, kScaffoldSetNames)},
        most_tokens_(axes.most_prompt_tokens),
        truncation_(enum_of<questions::Truncation>(axes.truncation, questions::kTruncationNames)),
        is_trained_(!group.model.random_weights) {
    if (axes.chat_template == kOfModel)
      turn_ = user_turn_of(config, tokenizer, resolve_model(group.model.model));
    if (most_tokens_ == 1)
      raise("most_prompt_tokens is 1: a prompt without its middle has two tokens; 0 cuts none");
    if (truncation_ != questions::Truncation::kAsCoded) return;
    if (most_tokens_ == 0)
      raise(
          "truncation as_coded makes all that is cached as long as most_prompt_tokens says: set "
          "it");
    if (layout_.grouping != questions::Grouping::kWhole)
      raise(
          "truncation as_coded cuts all that is cached as one text: set grouping to whole, or "
          "truncation to official");
  }

  [[nodiscard]] questions::Grouping grouping() const { return layout_.grouping; }

  // Compiles an item. If the item is too long, cuts it and sets `is_cut` to true.
  ItemPrompt compile(Item& item, bool& is_cut) const {
    is_cut = false;
    if (most_tokens_ == 0) return placed(item, compiled(item));
    const Item whole = item;
    for (int64_t most = std::min(most_tokens_, room_for(item)); most >= 2;) {
      item = whole;
      is_cut = cut_middle(item, tokenizer_, most, truncation_);
      ItemPrompt prompt = compiled(item);
      const int64_t tokens = prompt.tokens() + behind(item, prompt);
      if (!is_trained_ || can_place(config_, tokens)) return prompt;
      // The texts of schema and prompt are tokenized separately and may have more tokens than as
      // one text. Then more is cut.
      most -= tokens - config_.position_limit();
    }
    raise(
        "question {}: model {} places at most {} tokens, of which an answer takes {}: too few are "
        "left to ask it. Set most_answer_tokens to less",
        item.id, config_.name, config_.position_limit(), item.most_answer_tokens);
  }

 private:
  [[nodiscard]] ItemPrompt compiled(Item& item) const {
    put_into(item, turn_);
    return compile_item(item, layout_, tokenizer_, encoder_);
  }

  // Most tokens that the item's prompt may have if the model is to have positions for the answer,
  // too.
  [[nodiscard]] int64_t room_for(const Item& item) const {
    const int64_t wanted = most_tokens_ + item.most_answer_tokens;
    if (!is_trained_ || can_place(config_, wanted)) return most_tokens_;
    return config_.position_limit() - item.most_answer_tokens;
  }

  [[nodiscard]] ItemPrompt placed(const Item& item, ItemPrompt prompt) const {
    if (const int64_t tokens = prompt.tokens() + behind(item, prompt);
        is_trained_ && !can_place(config_, tokens))
      raise(
          "model {} places at most {} tokens, and question {} with its answer takes {}: ask about "
          "fewer documents, or fewer examples, or have the middle of long prompts taken out "
          "(most_prompt_tokens)",
          config_.name, config_.position_limit(), item.id, tokens);
    return prompt;
  }

  const model::ModelConfig& config_;
  const Tokenizer& tokenizer_;
  pml::TextEncoder encoder_;
  ItemLayout layout_;
  int64_t most_tokens_;  // 0: prompts are not cut
  questions::Truncation truncation_;
  bool is_trained_;  // false: weights are random and may be used at any position
  UserTurn turn_;    // put around each item
};

}  // namespace

void AccuracyAxes::visit(AxisVisitor& visitor) {
  visit_questions(visitor);
  visit_lengths(visitor);
  visitor.word({"chat_template", "",
                "around each question: none, or the model's own; few-shot and code "
                "sets of longbench take none",
                /*came_later=*/true},
               {{"none", kOfModel}}, chat_template);
  visitor.real(
      {"repair_ratio", "ratio", "of the imported tokens, those that repair computes again"}, {0, 1},
      repair_ratio);
  visit_prefill_chunk(visitor);
}

void AccuracyAxes::visit_questions(AxisVisitor& visitor) {
  visitor.word({"task", "", "of the questions that are asked; of longbench the dataset"},
               {task_names()}, task);
  visitor.integer({"items", "questions", "the first of them; 0: all, or 50 that are made up"},
                  {0, 1'000'000}, items);
  visitor.word(
      {"grouping", "", "what a module is: a document, a paragraph, or all documents in one"},
      words(questions::kGroupingNames), grouping);
  visitor.word(
      {"scaffold", "", "modules that are encoded together too: all, or two neighbours each"},
      words(kScaffoldSetNames), scaffold);
  visitor.integer({"documents", "documents", "lines or topics of a question that is made up"},
                  {1, 4096}, documents);
  visitor.integer({"shots", "examples", "worked examples of mmlu, a module each"}, {0, 1000},
                  mmlu.shots);
  visit_wording(visitor);
}

void AccuracyAxes::visit_lengths(AxisVisitor& visitor) {
  visitor.integer({"most_prompt_tokens", "tokens",
                   "a longer prompt loses its middle, as does one that the model cannot place with "
                   "its answer; 0: none is cut",
                   /*came_later=*/true},
                  {0, kMostTokens}, most_prompt_tokens);
  visitor.word({"truncation", "",
                "how it loses it: as LongBench does, or as the Prompt Cache authors do, who "
                "repeat what fits",
                /*came_later=*/true},
               words(questions::kTruncationNames), truncation);
  visitor.integer({"most_answer_tokens", "tokens", "that are generated; 0: as the questions say",
                   /*came_later=*/true},
                  {0, kMostNewTokens}, most_answer_tokens);
}

int64_t GroupQuestions::longest() const {
  int64_t most = 0;
  for (size_t i = 0; i < items.size(); ++i)
    most = std::max(most, prompts[i].tokens() + behind(items[i], prompts[i]));
  return most;
}

GroupQuestions questions_of(const Group& group, const model::ModelConfig& config,
                            std::shared_ptr<const Tokenizer> tokenizer) {
  const auto axes = group.axes_as<AccuracyAxes>();
  const Compiler compiler(group, axes, config, *tokenizer);
  GroupQuestions out{.tokenizer = std::move(tokenizer),
                     .items = items_of(group, axes, compiler.grouping()),
                     .prompts = {}};
  for (Item& item : out.items) {
    bool is_cut = false;
    out.prompts.push_back(compiler.compile(item, is_cut));
    out.cut += is_cut ? 1 : 0;
  }
  return out;
}

GroupQuestions QuestionShelf::make(const Group& group) {
  std::shared_ptr<const Tokenizer>& tokenizer = tokenizers_[group.model.model];
  if (tokenizer == nullptr) tokenizer = load_tokenizer(resolve_model(group.model.model));
  GroupQuestions made = questions_of(group, Bench::config(group), tokenizer);
  longest_[group.id] = made.longest();
  return made;
}

int64_t QuestionShelf::longest(const Group& group) {
  if (const auto known = longest_.find(group.id); known != longest_.end()) return known->second;
  // A token takes about 25 bytes in text, schema and prompt, so this is 400 MB.
  constexpr int64_t kMostKeptTokens = int64_t{1} << 24;
  GroupQuestions made = make(group);
  int64_t tokens = 0;
  for (const ItemPrompt& prompt : made.prompts) tokens += prompt.tokens();
  if (kept_tokens_ + tokens <= kMostKeptTokens) {
    kept_tokens_ += tokens;
    kept_.emplace(group.id, std::move(made));
  }
  return longest_.at(group.id);
}

GroupQuestions QuestionShelf::take(const Group& group) {
  auto kept = kept_.extract(group.id);
  if (kept.empty()) return make(group);
  for (const ItemPrompt& prompt : kept.mapped().prompts) kept_tokens_ -= prompt.tokens();
  return std::move(kept.mapped());
}

}  // namespace reprise::experiments
