// The 21 datasets of LongBench (Bai et al., 2023, table 1), and how each of them is asked and
// scored.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "workloads/longbench/documents.h"

namespace reprise::workloads::longbench {

enum class Metric {
  kQaF1,
  kQaF1Zh,
  kRouge,
  kRougeZh,
  kClassification,
  kRetrieval,
  kRetrievalZh,
  kCount,
  kCodeSimilarity,
};

// Returns the official scorer's name, e.g. "qa_f1_score".
std::string_view metric_name(Metric metric);
// True for metrics of Chinese texts, which jieba first cuts into words (words.h).
bool takes_words(Metric metric);

struct Dataset {
  std::string_view name;
  std::string_view language;  // "en", "zh" or "code"
  Metric metric;
  int64_t most_answer_tokens;  // limit on generated tokens
  DocumentRule documents;      // rule for cutting a context into documents
  // True for few-shot sets, where models go on with further examples after their answer: only the
  // first line of a prediction is scored.
  bool is_first_line_scored = false;
  // False for few-shot and code sets, which are asked without a chat template.
  bool takes_chat_template = true;
  // True if a line break ends the generation (samsum).
  bool stops_at_line_break = false;
};

// The datasets in the official program's order.
std::span<const Dataset> datasets();

// Finds a dataset by name; the suffix "_e" of LongBench-E's files is ignored. Throws Error for an
// unknown name, with the nearest one.
const Dataset& find_dataset(std::string_view name);

}  // namespace reprise::workloads::longbench
