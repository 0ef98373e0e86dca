// A question over documents, in the parts that can be cached one by one, and how its answer is
// judged.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::workloads::questions {

// When a generated text is right.
enum class Judgement : uint8_t {
  kFirstLine,   // its first line, without white space around it, is an answer, letter for letter
  kLastNumber,  // the last run of digits in it is the answer's number (LongEval's lines)
  kContains,    // an answer's words stand in it in a row, whatever their case and the punctuation
  kLongBench    // it is scored, from 0 to 1, as LongBench scores the dataset that `task` names
};

struct Item {
  std::string id;    // unique in its file
  std::string task;  // "two_hop"
  // The prompt is preamble + documents[0] + documents[1] + ... + question + cue, nothing put
  // between.
  std::string preamble;                // may be empty
  std::vector<std::string> documents;  // none empty
  std::string question;                // not empty without a cue; the model answers behind it
  std::vector<std::string> answers;    // each is right; at least one
  std::vector<std::string>
      choices;             // to be told apart by likelihood, answers[0] among them; or none
  std::string lead = " ";  // stands between the question and a choice
  std::vector<std::string> classes = {};  // of LongBench's classifications, to be told apart
  Judgement judgement = Judgement::kFirstLine;
  int64_t most_answer_tokens = 32;
  bool stops_at_line_break = false;  // what is behind the answer's first line is not generated
  std::string cue = {};  // what the model's turn begins with; of a chat, behind the user's
  bool takes_chat_template = true;  // where one is asked for

  [[nodiscard]] std::string text() const;  // of the whole prompt
};

// What of a generated text counts: by kFirstLine its first line without white space around it, by
// kLastNumber the number without leading zeros ("": none), by kContains all of it in lower case
// with one space for what is between words, by kLongBench all of it.
[[nodiscard]] std::string judged_text(const Item& item, std::string_view generated);
// Of items that are right or wrong: not of kLongBench's (CHECK), which judge.h scores.
[[nodiscard]] bool is_right(const Item& item, std::string_view generated);

// Whether the choice with the largest log-likelihood, of equal ones the first, is answers[0]. One
// number for each choice (CHECK).
[[nodiscard]] bool is_right_choice(const Item& item, std::span<const double> log_likelihoods);

// What becomes a module.
enum class Grouping : uint8_t {
  kDocuments,   // each document
  kParagraphs,  // each of a document's paragraphs, cut behind blank lines
  kWhole        // all documents in one, as in the Prompt Cache authors' experiments
};
inline constexpr const char* kGroupingNames[] = {"documents", "paragraphs", "whole"};

// The texts of the modules, in order; together they are the documents. None where there are no
// documents.
[[nodiscard]] std::vector<std::string> modules_of(const Item& item, Grouping grouping);

}  // namespace reprise::workloads::questions
