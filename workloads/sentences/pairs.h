// Pairs of sentences and how much alike people find them: SemEval's STS tasks, the STS benchmark,
// SICK.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace reprise::workloads::sentences {

struct SentencePair {
  std::string first, second;  // neither empty
  double score = 0;           // 0 to 5
  int64_t line = 1;           // of its file
};

struct PairSet {
  std::string name;  // see short_name(): "sts13/headlines.test.tsv"
  std::vector<SentencePair> pairs;
  int64_t unscored = 0;  // pairs that nobody scored, left out
};

// A file of pairs; at least two are scored. Which of these it is, its name and first line tell:
//   STS.input.NAME.txt   SemEval's (or STS2016.input.NAME.txt): two sentences, more columns are
//                        sources; the scores, or empty lines, stand in STS.gs.NAME.txt beside it
//   a heading            with sentence1 or sentence_A, sentence2 or sentence_B, and score or
//                        relatedness_score: SICK, GLUE's STS-B
//   3 columns            score or nothing, sentence, sentence
//   7 columns or more    genre, file, year, id, score, sentence, sentence: the STS benchmark
// Throws Error with file and line for a line with too few columns, a sentence that is empty, a
// score that is none of 0 to 5; and for a table that is none of these, with what was found.
PairSet load_pairs(const std::filesystem::path& file);

// Where the scores of a SemEval's file of sentences stand: STS.gs.NAME.txt of STS.input.NAME.txt,
// in its folder. Empty for any other name.
std::filesystem::path scores_beside(const std::filesystem::path& file);

// The sets of a file, or of a folder, by name: every *.tsv, STS*.input.*.txt, sts-*.csv (the
// benchmark's) and SICK_*.txt in it, but for tables whose heading has sentences and no score
// (GLUE's tests). Throws Error for a folder without any.
std::vector<PairSet> load_pair_sets(const std::filesystem::path& place);

}  // namespace reprise::workloads::sentences
