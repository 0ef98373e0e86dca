// The texts of kind "sentences", and the scores of the texts' vectors.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "experiments/framework/kind.h"
#include "results/proportion.h"
#include "workloads/questions/mmlu.h"

namespace reprise::experiments {

// The workloads "sentence_pairs", "sentiment" and "mmlu".
[[nodiscard]] std::vector<workloads::WorkloadInfo> sentence_workloads();

inline constexpr const char* kSplitOfAsked = "same";

struct SentenceChoice {
  int64_t items = 0;          // most pairs, texts or questions of a file; 0: all
  std::string group = "all";  // mmlu: a group of subjects
  workloads::questions::MmluOptions mmlu = {};
  // mmlu: true if the choices are the letters alone ("A"), false if the space or line break of the
  // template precedes them (" A"). [AttnCache's released code takes the letters alone]
  bool has_bare_letters = false;
  // The split of MMLU whose first questions are the database and whose next ones are the training
  // texts; then all questions of mmlu.split are asked. With kSplitOfAsked, mmlu.split itself is
  // divided at random into database, training texts and asked questions. [AttnCache's released
  // code]
  std::string database_split = kSplitOfAsked;
  double database_share = 0;  // share of the items that methods may store
  double training_share = 0;  // share of the items that methods learn from
  uint64_t seed = 1;          // seed of the splits
  // True contaminates the database: methods store the asked texts themselves (the first text of
  // each pair) instead of the texts of database_share. [AttnCache's released code for STS]
  bool stores_asked = false;
  // Replaces each sentence by its edited_text() before the items are divided, so that no edited
  // text occurs in two parts. mmlu's questions are not edited.
  bool edits_texts = false;
  // For labelled texts: true if the model scores labels itself, so that no text is spent on a
  // probe.
  bool has_head = false;
};

// Edits a text as PromptEOL's evaluation does before it puts the text into its prompt: adds a full
// stop unless the text ends in . ? " or ', turns a final question mark into a full stop, and double
// quotes into single quotes. AttnCache's authors use this evaluation.
[[nodiscard]] std::string edited_text(std::string text);

// Texts with people's judgement: the similarity of the two texts of each pair, a label of each
// text, or the right choice of each question.
struct SentenceSet {
  std::vector<std::string> texts;    // [texts]  of pairs: first, second, first, second, ...
  std::vector<double> scores;        // [pairs]  similarity that people gave
  std::vector<uint8_t> labels;       // [texts]  0 or 1, in sets of labelled texts
  std::vector<size_t> answers;       // [texts]  index of the right choice, in sets of questions
  std::vector<std::string> choices;  // choices of every question; see has_bare_letters
  std::vector<size_t> probe;    // labelled texts that train a linear probe (4/5); none with a head
  std::vector<size_t> queries;  // labelled texts that are scored (1/5); all with a head
  bool has_head = false;        // see SentenceChoice
  // Texts that methods may store; none is scored, except with SentenceChoice::stores_asked.
  std::vector<std::string> database;
  std::vector<std::string> training;  // texts that methods learn from; none is scored
  std::vector<std::string> splits;    // descriptions of all parts; see split_by_text()
  int64_t unscored = 0;               // pairs left out because nobody scored them
};

// Loads the texts; all files of a folder form one set. If the file names mark training files and
// query files (see published.h), the texts of query files are the queries, and the other texts are
// divided into database, training texts and probe. Throws Error as the workloads' loaders and
// split_by_text() do, if the shares leave no queries, if fewer than two pairs are left, and if all
// texts of the probe have the same label.
SentenceSet load_sentences(const Workload& workload, const SentenceChoice& choice);

struct SentenceScore {
  // Spearman's correlation of cosine and score, or the share of right labels, or the share of
  // questions whose likeliest choice is right.
  double value = 0;
  results::Interval interval;  // 95 % interval of `value`: bootstrap for pairs, else Wilson
};

//   vectors   [texts, width] f32: sentence vectors; for questions, the logits of the choices; with
//             a head, the logits of the labels
//   seed      draws the bootstrap's samples
// Throws Error naming the number of a text, from 1, whose numbers are not all finite.
SentenceScore score_sentences(const SentenceSet& set, std::span<const float> vectors, int64_t width,
                              uint64_t seed);

}  // namespace reprise::experiments
