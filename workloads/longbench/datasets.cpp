#include "workloads/longbench/datasets.h"

#include <string>
#include <vector>

#include "core/base/error.h"

namespace reprise::workloads::longbench {
namespace {

constexpr DocumentRule kWhole{.kind = DocumentRule::Kind::kWhole};
constexpr DocumentRule kParagraphs{.kind = DocumentRule::Kind::kParagraphs};

constexpr DocumentRule numbered(std::string_view label) {
  return {.kind = DocumentRule::Kind::kNumbered, .label = label};
}

constexpr DocumentRule labelled(std::string_view label) {
  return {.kind = DocumentRule::Kind::kLabelled, .label = label};
}

constexpr Dataset few_shot(std::string_view name, std::string_view language, Metric metric,
                           int64_t most_answer_tokens, std::string_view label,
                           bool stops_at_line_break = false) {
  return {.name = name,
          .language = language,
          .metric = metric,
          .most_answer_tokens = most_answer_tokens,
          .documents = labelled(label),
          .is_first_line_scored = true,
          .takes_chat_template = false,
          .stops_at_line_break = stops_at_line_break};
}

constexpr Dataset code(std::string_view name) {
  return {.name = name,
          .language = "code",
          .metric = Metric::kCodeSimilarity,
          .most_answer_tokens = 64,
          .documents = kWhole,
          .takes_chat_template = false};
}

constexpr Dataset kDatasets[] = {
    {"narrativeqa", "en", Metric::kQaF1, 128, kParagraphs},
    {"qasper", "en", Metric::kQaF1, 128, kParagraphs},
    {"multifieldqa_en", "en", Metric::kQaF1, 64, kParagraphs},
    {"multifieldqa_zh", "zh", Metric::kQaF1Zh, 64, kParagraphs},
    {"hotpotqa", "en", Metric::kQaF1, 32, numbered("Passage")},
    {"2wikimqa", "en", Metric::kQaF1, 32, numbered("Passage")},
    {"musique", "en", Metric::kQaF1, 32, numbered("Passage")},
    {"dureader", "zh", Metric::kRougeZh, 128, numbered("\u6587\u7ae0")},
    {"gov_report", "en", Metric::kRouge, 512, kParagraphs},
    {"qmsum", "en", Metric::kRouge, 512, kParagraphs},
    {"multi_news", "en", Metric::kRouge, 512, numbered("Passage")},
    {"vcsum", "zh", Metric::kRougeZh, 512, kParagraphs},
    few_shot("trec", "en", Metric::kClassification, 64, "Question:"),
    few_shot("triviaqa", "en", Metric::kQaF1, 32, "Passage:"),
    few_shot("samsum", "en", Metric::kRouge, 128, "Dialogue:", /*stops_at_line_break=*/true),
    few_shot("lsht", "zh", Metric::kClassification, 64, "\u65b0\u95fb\u5185\u5bb9"),
    {"passage_count", "en", Metric::kCount, 32, numbered("Paragraph")},
    {"passage_retrieval_en", "en", Metric::kRetrieval, 32, numbered("Paragraph")},
    {"passage_retrieval_zh", "zh", Metric::kRetrievalZh, 32, numbered("\u6bb5\u843d")},
    code("lcc"),
    code("repobench-p"),
};

}  // namespace

std::string_view metric_name(Metric metric) {
  switch (metric) {
    case Metric::kQaF1:
      return "qa_f1_score";
    case Metric::kQaF1Zh:
      return "qa_f1_zh_score";
    case Metric::kRouge:
      return "rouge_score";
    case Metric::kRougeZh:
      return "rouge_zh_score";
    case Metric::kClassification:
      return "classification_score";
    case Metric::kRetrieval:
      return "retrieval_score";
    case Metric::kRetrievalZh:
      return "retrieval_zh_score";
    case Metric::kCount:
      return "count_score";
    case Metric::kCodeSimilarity:
      return "code_sim_score";
  }
  REPRISE_CHECK(false, "metric {}", static_cast<int>(metric));
  return "";
}

bool takes_words(Metric metric) { return metric == Metric::kQaF1Zh || metric == Metric::kRougeZh; }

std::span<const Dataset> datasets() { return kDatasets; }

const Dataset& find_dataset(std::string_view name) {
  std::string_view plain = name;
  if (plain.ends_with("_e")) plain.remove_suffix(2);
  std::vector<std::string> names;
  for (const Dataset& dataset : kDatasets) {
    if (dataset.name == plain) return dataset;
    names.emplace_back(dataset.name);
  }
  raise("{}", unknown_name("LongBench dataset", name, names));
}

}  // namespace reprise::workloads::longbench
