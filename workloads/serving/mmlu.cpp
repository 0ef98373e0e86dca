// MMLU questions with few-shot prompts.
//
// `file` is one file of a subject or a folder of them (workloads/questions/mmlu_files.h). Each
// prompt is tokenized as a whole. A subject's declared prefix is the run of leading tokens of
// preamble and examples that all prompts of the subject share. Generates kMmluOutputTokens, or
// output_tokens if given. An answer is right if its first capital letter is the letter of the right
// choice.
#include "workloads/serving/sources.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/base/error.h"
#include "core/tokenizer/shared_text.h"
#include "core/tokenizer/tokenizer.h"
#include "workloads/questions/mmlu.h"
#include "workloads/questions/mmlu_files.h"
#include "workloads/serving/draws.h"
#include "workloads/serving/subjects.h"
#include "workloads/serving/text_entries.h"

namespace reprise::workloads::serving {
namespace {

namespace fs = std::filesystem;

struct Subject {
  std::string name;
  std::string prefix;                  // preamble and examples
  std::vector<std::string> questions;  // questions and their cues
  std::vector<std::string> answers;    // [questions]  the right ones
};

Subject load_subject(const fs::path& file, const questions::MmluOptions& options) {
  const std::vector<questions::Item> items = questions::load_mmlu(file, options);
  Subject subject{.name = items.front().task, .prefix = items.front().preamble};
  for (const std::string& example : items.front().documents) subject.prefix += example;
  for (const questions::Item& item : items) {
    subject.questions.push_back(item.question + item.cue);
    subject.answers.push_back(item.answers.front());
  }
  return subject;
}

std::vector<Subject> load_subjects(const SourceOptions& options) {
  std::map<std::string, fs::path> files;
  std::vector<std::string> names;
  for (const questions::MmluFile& file : questions::find_mmlu_files(options.file, options.split)) {
    files[file.subject] = file.path;
    names.push_back(file.subject);
  }
  const questions::MmluOptions asked{.shots = options.shots,
                                     .split = options.split,
                                     .question_template = options.question_template};
  std::vector<Subject> subjects;
  for (const std::string& name : chosen_subjects("mmlu", options, names))
    subjects.push_back(load_subject(files.at(name), asked));
  return subjects;
}

// Entries with the right answers to their questions.
class Questions final : public TextEntries {
 public:
  explicit Questions(const std::vector<Subject>& subjects) {
    for (const Subject& subject : subjects)
      answers_.insert(answers_.end(), subject.answers.begin(), subject.answers.end());
  }
  // Judges the first capital letter, whatever the wording [RelayAttention appendix C].
  [[nodiscard]] std::optional<bool> is_right(int64_t entry,
                                             std::string_view generated) const override {
    return questions::is_right({.answers = {answers_[static_cast<size_t>(place(entry))]},
                                .judgement = questions::Judgement::kFirstCapital},
                               generated);
  }

 private:
  std::vector<std::string> answers_;  // [questions]  indexed by TextEntries::place()
};

// Turns questions into tokens and keeps one prefix per subject.
class Asker {
 public:
  explicit Asker(const SourceOptions& options)
      : options_(options),
        output_tokens_(options.output_tokens == 0 ? kMmluOutputTokens : options.output_tokens),
        tokenizer_(options.tokenizer()),
        subjects_(load_subjects(options)),
        entries_(std::make_unique<Questions>(subjects_)) {
    for (size_t s = 0; s < subjects_.size(); ++s)
      for (size_t q = 0; q < subjects_[s].questions.size(); ++q) places_.push_back({s, q});
    prefixes_.resize(subjects_.size());
  }

  std::unique_ptr<Entries> ask() {
    asked_.resize(subjects_.size());
    sample_entries(std::ssize(places_), options_, [this](int64_t place) { return take(place); });
    for (size_t s = 0; s < subjects_.size(); ++s)
      if (!asked_[s].empty()) add_subject(s);
    entries_->finish();
    return std::move(entries_);
  }

 private:
  struct Place {
    size_t subject, question;
  };
  struct Asked {
    int64_t place;
    std::vector<int32_t> tokens;  // tokens of the whole prompt
  };

  bool take(int64_t place) {
    const auto [s, q] = places_[static_cast<size_t>(place)];
    std::vector<int32_t> tokens = prefix_of(s).encode(subjects_[s].questions[q]);
    const int64_t salted = options_.salt.tokens(/*has_text=*/true) + std::ssize(tokens);
    if (options_.too_long == "drop" && is_too_long(options_, salted, output_tokens_)) {
      entries_->leave_out_too_long();
      return false;
    }
    asked_[s].push_back({.place = place, .tokens = std::move(tokens)});
    return true;
  }

  SharedText& prefix_of(size_t subject) {
    std::optional<SharedText>& prefix = prefixes_[subject];
    if (!prefix) prefix.emplace(*tokenizer_, subjects_[subject].prefix);
    return *prefix;
  }

  // Adds the subject's declared prefix: the leading tokens of preamble and examples that the
  // prompts of all its questions share.
  void add_subject(size_t subject) {
    std::vector<int32_t> prefix = prefix_of(subject).tokens();
    for (const Asked& asked : asked_[subject]) {
      const auto end =
          std::mismatch(prefix.begin(), prefix.end(), asked.tokens.begin(), asked.tokens.end());
      prefix.erase(end.first, prefix.end());
    }
    const std::ptrdiff_t shared = std::ssize(prefix);
    const int32_t number = shared > 0 ? next_prefix_++ : -1;
    for (const Asked& asked : asked_[subject])
      entries_->add({.place = asked.place, .prefix = number, .output_tokens = output_tokens_},
                    {asked.tokens.begin() + shared, asked.tokens.end()});
    if (shared > 0) entries_->add_prefix(subjects_[subject].name, std::move(prefix));
  }

  const SourceOptions& options_;
  int64_t output_tokens_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<Subject> subjects_;
  std::vector<std::optional<SharedText>> prefixes_;  // [subjects], made on first use
  std::vector<Place> places_;                        // [questions]
  std::vector<std::vector<Asked>> asked_;            // [subjects]
  std::unique_ptr<TextEntries> entries_;
  int32_t next_prefix_ = 0;
};

}  // namespace

SourceInfo mmlu_info() {
  return {.name = "mmlu",
          .summary = "MMLU's questions behind worked examples, which are a prefix by subject",
          .file = FileUse::kNeeded,
          .fields = {"requests", "order", "output_tokens", "subjects", "shots", "split",
                     "question_template", "most_prompt_tokens", "most_output_tokens", "too_long"}};
}

std::unique_ptr<Entries> make_mmlu(const SourceOptions& options) { return Asker(options).ask(); }

}  // namespace reprise::workloads::serving
