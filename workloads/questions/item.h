// A question over documents, in parts that can be cached one by one, and the rule that judges its
// answer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::workloads::questions {

// The condition for a generated text to be right.
enum class Judgement : uint8_t {
  // The first line of the text, without surrounding white space, equals an answer.
  kFirstLine,
  // The last run of digits in the text is the answer's number (LongEval's lines).
  kLastNumber,
  // The words of an answer occur in a row in the text, regardless of case and punctuation.
  kContains,
  // The first capital letter of the text, in any script, equals an answer (RelayAttention's MMLU).
  kFirstCapital,
  // The text is scored from 0 to 1 as LongBench scores the dataset that Item::task names.
  kLongBench
};

struct Item {
  std::string id;    // unique in its file
  std::string task;  // e.g. "two_hop"
  // The prompt is preamble + documents[0] + documents[1] + ... + question + cue, with nothing
  // between.
  std::string preamble;                // may be empty
  std::vector<std::string> documents;  // none is empty
  // May be empty only if there is a cue. The model answers after question and cue.
  std::string question;
  std::vector<std::string> answers;  // each of them is right; at least one
  // Choices compared by likelihood, answers[0] among them; may be empty.
  std::vector<std::string> choices;
  std::string lead = " ";  // text between the question and a choice
  // The classes of LongBench's classification sets.
  std::vector<std::string> classes = {};
  Judgement judgement = Judgement::kFirstLine;
  int64_t most_answer_tokens = 32;
  // Generation stops after the answer's first line.
  bool stops_at_line_break = false;
  // The text with which the model's turn begins. In a chat it follows the user's turn.
  std::string cue = {};
  bool takes_chat_template = true;  // false: asked without a chat template

  [[nodiscard]] std::string text() const;  // the whole prompt
};

// Returns the part of a generated text that counts. kFirstLine: the first line without surrounding
// white space. kLastNumber: the number without leading zeros, "" for none. kContains: all of it in
// lower case, words separated by single spaces. kFirstCapital: the letter, "" for none; throws
// Error for invalid UTF-8. kLongBench: all of it.
[[nodiscard]] std::string judged_text(const Item& item, std::string_view generated);
// True if a generated text is right. Not for kLongBench items (CHECK), which have scores instead:
// see judge.h.
[[nodiscard]] bool is_right(const Item& item, std::string_view generated);

// True if the choice with the largest log-likelihood is one of the answers; of equally likely
// choices the first counts. There must be one number per choice, and at least one choice (CHECK).
[[nodiscard]] bool is_right_choice(const Item& item, std::span<const double> log_likelihoods);

// Which texts become prompt modules.
enum class Grouping : uint8_t {
  kDocuments,   // each document
  kParagraphs,  // each paragraph of a document, cut after blank lines
  // All documents together, as in the Prompt Cache authors' experiments.
  kWhole
};
inline constexpr const char* kGroupingNames[] = {"documents", "paragraphs", "whole"};

// Returns the modules' texts in order; concatenated they are the documents. Empty without
// documents.
[[nodiscard]] std::vector<std::string> modules_of(const Item& item, Grouping grouping);

}  // namespace reprise::workloads::questions
