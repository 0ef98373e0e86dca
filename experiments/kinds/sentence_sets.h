// What kind "sentences" embeds, and what is asked of the vectors.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "experiments/framework/kind.h"
#include "results/proportion.h"

namespace reprise::experiments {

// "sentence_pairs" and "sentiment".
[[nodiscard]] std::vector<workloads::WorkloadInfo> sentence_workloads();

struct SentenceChoice {
  int64_t items = 0;          // pairs or labelled texts, the first of each file; 0: all
  double database_share = 0;  // of them, set apart for methods that store what they have seen
  uint64_t seed = 1;          // of the splits
};

// Texts to be embedded, one after the other, and people's word on them: how alike the two of each
// pair are, or a label.
struct SentenceSet {
  std::vector<std::string> texts;     // of pairs: the first and the second of each in turn
  std::vector<double> scores;         // of pairs: as many as pairs
  std::vector<uint8_t> labels;        // of labelled texts: as many as texts
  std::vector<size_t> training;       // of labelled texts: those that a probe learns from, and
  std::vector<size_t> queries;        // those it is asked; four and one of five
  std::vector<std::string> database;  // texts of the database
  std::vector<std::string> splits;    // descriptions of all parts; see split_by_text()
  int64_t unscored = 0;               // pairs left out because nobody scored them
};

// The sets of a folder are one. Throws Error as the loaders and split_by_text(), and where fewer
// than two pairs are left.
SentenceSet load_sentences(const Workload& workload, const SentenceChoice& choice);

struct SentenceScore {
  double value = 0;  // Spearman's correlation of cosine and score; or the share of right labels
  results::Interval interval;  // of 95 %: the bootstrap's; or Wilson's
};

// `vectors` [texts, width]. `seed` draws the bootstrap's samples.
SentenceScore score_sentences(const SentenceSet& set, std::span<const float> vectors, int64_t width,
                              uint64_t seed);

}  // namespace reprise::experiments
