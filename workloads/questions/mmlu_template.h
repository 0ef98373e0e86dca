// The wordings in which MMLU's questions are put to a model.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/questions/item.h"

namespace reprise::workloads::questions {

inline constexpr size_t kMmluChoices = 4;

// A row of MMLU's files.
struct MmluRow {
  std::string question;
  std::array<std::string, kMmluChoices> choices;
  size_t answer = 0;  // index of the right choice
};

// A prompt is preamble, worked examples, question. An example is a question, `lead`, the letter of
// its answer and a blank line.
struct MmluTemplate {
  std::string_view name;      // as settings name it
  std::string_view preamble;  // once, before the examples; may hold {subject}
  std::string_view question;  // with {subject}, {question}, {a}, {b}, {c} and {d}
  std::string_view lead;      // between a question and the letter of its answer
  // Line breaks of a row's texts become "\n" alone, as they do in a program that reads the file as
  // text.
  bool has_plain_breaks;
  Judgement judgement;  // rule for judging a generated answer
  int64_t most_answer_tokens;

  [[nodiscard]] std::string preamble_of(const std::string& subject) const;
  [[nodiscard]] std::string question_of(const std::string& subject, const MmluRow& row) const;
  [[nodiscard]] std::string example_of(const std::string& subject, const MmluRow& row) const;
};

// "hendrycks": the official program's (hendrycks/test, evaluate.py), which AttnCache uses too.
// "vllm_ra": that of RelayAttention's authors (rayleizhu/vllm-ra, _scripts/mllu_bench.py),
// which repeats its instruction before every question.
std::vector<std::string> mmlu_template_names();

// Throws Error for an unknown name, with the nearest.
const MmluTemplate& mmlu_template(std::string_view name);

// "A" for 0.
std::string mmlu_letter(size_t choice);

}  // namespace reprise::workloads::questions
