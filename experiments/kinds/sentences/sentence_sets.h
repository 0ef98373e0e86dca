// The texts of kind "sentences", and the scores of their vectors.
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
  int64_t items = 0;          // pairs or labelled texts of each file, questions: the first; 0: all
  std::string group = "all";  // of mmlu: of subjects
  workloads::questions::MmluOptions mmlu = {};
  // The split of MMLU that database and training are taken from. All questions of mmlu.split are
  // then asked. With kSplitOfAsked one split is divided. [AttnCache's released code]
  std::string database_split = kSplitOfAsked;
  double database_share = 0;  // share of the items that methods may store
  double training_share = 0;  // share of the items that methods learn from before
  uint64_t seed = 1;          // of the splits
  // Contamination: methods store the asked texts themselves (of pairs, the first of each) in place
  // of those of database_share. [AttnCache's released code for STS]
  bool stores_asked = false;
  bool edits_texts = false;  // edited_text() of all texts
  // For labelled texts: true if the model scores labels itself, so that no text is spent on a
  // probe.
  bool has_head = false;
};

// A text as PromptEOL's evaluation puts it into its prompt, which AttnCache's authors took: with a
// full stop added unless it ends in . ? " or ', a final question mark turned into a full stop, and
// single quotes for double ones.
[[nodiscard]] std::string edited_text(std::string text);

// Texts, and people's judgement of them: the similarity of the two texts of each pair, a label of
// each text, or the right one of some continuations.
struct SentenceSet {
  std::vector<std::string> texts;    // of pairs: the first and the second of each in turn
  std::vector<double> scores;        // of pairs: as many as pairs
  std::vector<uint8_t> labels;       // of labelled texts: as many as texts
  std::vector<size_t> answers;       // of questions: the right choice, as many as texts
  std::vector<std::string> choices;  // of all questions, as they stand behind a text
  std::vector<size_t> probe;         // of labelled texts: those that a probe learns from, and
  std::vector<size_t> queries;       // that the probe is tested on; 4/5 and 1/5; of a head: all
  bool has_head = false;             // of labelled texts: SentenceChoice::has_head
  std::vector<std::string>
      database;  // texts that methods may store; none is scored unless they are the asked ones
  std::vector<std::string> training;  // texts that methods learn from; none is scored
  std::vector<std::string> splits;    // descriptions of all parts; see split_by_text()
  int64_t unscored = 0;               // pairs left out because nobody scored them
};

// Loads the texts; all files of a folder form one set. If the files' names say which are for
// training and which are queries (see published.h), these are the queries, and the others are
// divided into database, training texts and probe. Throws Error as the loaders and split_by_text(),
// if the shares leave no queries, and if fewer than two pairs are left.
SentenceSet load_sentences(const Workload& workload, const SentenceChoice& choice);

struct SentenceScore {
  // Spearman's correlation of cosine and score, or the share of right labels, or the share of
  // questions whose likeliest choice is right.
  double value = 0;
  results::Interval interval;  // of 95 %: the bootstrap's; or Wilson's
};

// `vectors` [texts, width]; for questions the choices' logits, and of a head the labels'. `seed`
// draws the bootstrap's samples.
SentenceScore score_sentences(const SentenceSet& set, std::span<const float> vectors, int64_t width,
                              uint64_t seed);

}  // namespace reprise::experiments
