// The 21 datasets of LongBench (Bai et al., 2023, table 1): how each is asked and scored.
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

// The official scorer's name: "qa_f1_score".
std::string_view metric_name(Metric metric);
// Whether texts are cut into Chinese words first, which takes jieba (words.h).
bool takes_words(Metric metric);

struct Dataset {
  std::string_view name;
  std::string_view language;  // "en", "zh" or "code"
  Metric metric;
  int64_t most_answer_tokens;  // that the model may generate
  DocumentRule documents;      // how its context was put together
  // Few-shot sets: only the first line of a prediction is scored, because models go on with further
  // examples.
  bool is_first_line_scored = false;
  // A chat model's template is left off few-shot and code sets.
  bool takes_chat_template = true;
  // A line break ends the generation (samsum).
  bool stops_at_line_break = false;
};

// In the order of the official program.
std::span<const Dataset> datasets();

// By name; the "_e" of LongBench-E's files is left off. Throws Error with the nearest name.
const Dataset& find_dataset(std::string_view name);

}  // namespace reprise::workloads::longbench
