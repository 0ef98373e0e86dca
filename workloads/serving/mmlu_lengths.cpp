// The source "mmlu_lengths": a subject's examples are a declared prefix of the counted length; a
// question follows without its begin token. Generates kMmluOutputTokens, or output_tokens if given.
// Needs neither MMLU's files nor a tokenizer.
#include "workloads/serving/mmlu_lengths.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/json.h"
#include "workloads/questions/mmlu_groups.h"
#include "workloads/serving/sources.h"
#include "workloads/serving/subjects.h"

namespace reprise::workloads::serving {
namespace {

namespace fs = std::filesystem;

// Accepted names of the two files: the authors' own, and names that say what the files hold.
constexpr std::pair<const char*, const char*> kListNames[] = {
    {"mmlu_5shotprefix_stat.json", "mmlu_prompt_stat.json"},
    {"mmlu_5shot_prefix_lengths.json", "mmlu_prompt_lengths.json"}};

struct Lists {
  fs::path prefixes, prompts;
};

Lists find_lists(const fs::path& place) {
  std::error_code error;
  const fs::path folder = fs::is_directory(place, error) ? place : place.parent_path();
  for (const auto& [prefixes, prompts] : kListNames)
    if (fs::exists(folder / prefixes, error) && fs::exists(folder / prompts, error))
      return {folder / prefixes, folder / prompts};
  raise("{} does not hold {} and {}, the lists of rayleizhu/vllm-ra (stat/dataset)",
        folder.string(), kListNames[0].first, kListNames[0].second);
}

std::vector<int64_t> read_counts(const fs::path& path, int64_t expected) {
  const Value json = read_json(path);
  if (!json.is_list()) raise("{}: a list of token counts is expected", path.string());
  if (std::ssize(json.list()) != expected)
    raise("{}: {} token counts, expected {}", path.string(), json.list().size(), expected);
  std::vector<int64_t> counts;
  for (const Value& value : json.list()) {
    // A prompt is a begin token and at least one more.
    if (!value.is_int64() || value.integer() < 2 || value.integer() > kMostTokens)
      raise("{}: entry {} is {}, expected a number of tokens from 2 to {}", path.string(),
            counts.size(), shown(value), kMostTokens);
    counts.push_back(value.integer());
  }
  return counts;
}

// Refuses options with other values than those with which the lists were counted, since records
// would state wrong options.
void check_what_was_counted(const SourceOptions& options) {
  if (options.shots != 5)
    raise(
        "source \"mmlu_lengths\": shots is {}, and the lists count prompts with 5 worked examples: "
        "set shots to 5, or take source \"mmlu\"",
        options.shots);
  if (options.question_template != "vllm_ra")
    raise(
        "source \"mmlu_lengths\": question_template is \"{}\", and the lists count the wording of "
        "their authors: set it to \"vllm_ra\"",
        options.question_template);
}

class MmluLengths final : public Entries {
 public:
  MmluLengths(std::vector<SubjectLengths> subjects, int64_t output_tokens)
      : subjects_(std::move(subjects)), output_tokens_(output_tokens) {
    for (size_t s = 0; s < subjects_.size(); ++s)
      for (size_t q = 0; q < subjects_[s].question_tokens.size(); ++q) places_.push_back({s, q});
  }

  [[nodiscard]] int64_t size() const override { return std::ssize(places_); }
  [[nodiscard]] RequestSource::Lengths lengths(int64_t entry) const override {
    return {.prompt = subject_of(entry).prefix_tokens + own_tokens(entry),
            .output = output_tokens_};
  }
  void add_parts(int64_t entry, std::vector<PromptPart>& out) const override {
    out.push_back(examples_of(prefix(entry)));
    out.push_back({.item = entry, .tokens = own_tokens(entry)});
  }
  [[nodiscard]] std::vector<Prefix> prefixes() const override {
    std::vector<Prefix> prefixes;
    for (int32_t s = 0; s < static_cast<int32_t>(subjects_.size()); ++s)
      prefixes.push_back(
          {.name = subjects_[static_cast<size_t>(s)].name, .parts = {examples_of(s)}});
    return prefixes;
  }
  [[nodiscard]] int32_t prefix(int64_t entry) const override {
    return static_cast<int32_t>(places_[static_cast<size_t>(entry)].subject);
  }

 private:
  struct Place {
    size_t subject, question;
  };

  [[nodiscard]] const SubjectLengths& subject_of(int64_t entry) const {
    return subjects_[places_[static_cast<size_t>(entry)].subject];
  }
  [[nodiscard]] int64_t own_tokens(int64_t entry) const {
    return subject_of(entry).question_tokens[places_[static_cast<size_t>(entry)].question] - 1;
  }
  [[nodiscard]] PromptPart examples_of(int32_t subject) const {
    return {.item = -1 - subject, .tokens = subjects_[static_cast<size_t>(subject)].prefix_tokens};
  }

  std::vector<SubjectLengths> subjects_;
  std::vector<Place> places_;  // [questions]
  int64_t output_tokens_;
};

}  // namespace

std::vector<SubjectLengths> read_mmlu_lengths(const fs::path& place) {
  const std::span<const questions::MmluSubject> known = questions::mmlu_subjects();
  int64_t total = 0;
  for (const questions::MmluSubject& subject : known) total += subject.test_questions;
  const Lists lists = find_lists(place);
  const std::vector<int64_t> prefixes = read_counts(lists.prefixes, std::ssize(known));
  const std::vector<int64_t> prompts = read_counts(lists.prompts, total);
  std::vector<SubjectLengths> subjects;
  auto next = prompts.begin();
  for (const questions::MmluSubject& subject : known) {
    subjects.push_back({.name = std::string(subject.name),
                        .prefix_tokens = prefixes[subjects.size()],
                        .question_tokens = {next, next + subject.test_questions}});
    next += subject.test_questions;
  }
  return subjects;
}

SourceInfo mmlu_lengths_info() {
  return {
      .name = "mmlu_lengths",
      .summary = "MMLU's 5-shot prompts as RelayAttention's authors counted them, made-up tokens",
      .file = FileUse::kNeeded,
      .fields = {"requests", "order", "output_tokens", "subjects", "shots", "question_template",
                 "most_prompt_tokens", "most_output_tokens", "too_long"}};
}

std::unique_ptr<Entries> make_mmlu_lengths(const SourceOptions& options) {
  check_what_was_counted(options);
  const std::vector<SubjectLengths> all = read_mmlu_lengths(options.file);
  std::vector<std::string> names;
  for (const SubjectLengths& subject : all) names.push_back(subject.name);
  std::vector<SubjectLengths> chosen;
  for (const std::string& name : chosen_subjects("mmlu_lengths", options, names))
    chosen.push_back(*std::find_if(all.begin(), all.end(), [&](const SubjectLengths& subject) {
      return subject.name == name;
    }));
  return std::make_unique<MmluLengths>(
      std::move(chosen), options.output_tokens == 0 ? kMmluOutputTokens : options.output_tokens);
}

}  // namespace reprise::workloads::serving
