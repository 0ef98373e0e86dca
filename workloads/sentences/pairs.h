// Pairs of sentences with people's scores of their similarity: SemEval's STS tasks, the STS
// benchmark, SICK.
//
// The name and first line of a file determine its format:
//   STS.input.NAME.txt   SemEval's (or STS2016.input.NAME.txt): two sentences; further columns are
//                        sources. STS.gs.NAME.txt beside it has a score or an empty line per pair.
//   a heading            with sentence1 or sentence_A, sentence2 or sentence_B, and score or
//                        relatedness_score: SICK, GLUE's STS-B
//   3 columns            score or nothing, sentence, sentence
//   7 columns or more    genre, file, year, id, score, sentence, sentence: the STS benchmark
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace reprise::workloads::sentences {

struct SentencePair {
  std::string first, second;  // neither is empty
  double score = 0;           // 0 to 5
  int64_t line = 1;           // line in its file
};

struct PairSet {
  std::string name;  // see short_name(), e.g. "sts13/headlines.test.tsv"
  std::vector<SentencePair> pairs;
  int64_t unscored = 0;  // number of pairs without a score, which are left out
};

// Loads a file of pairs, at least two of which must have scores. Throws Error with file and line
// for too few columns, an empty sentence or a score outside 0 to 5. Throws Error for an unknown
// format, with what was found.
PairSet load_pairs(const std::filesystem::path& file);

// Returns the path of the scores of a SemEval file: STS.gs.NAME.txt in the folder of
// STS.input.NAME.txt. Returns an empty path for a file of any other name.
std::filesystem::path scores_beside(const std::filesystem::path& file);

// Loads a file, or the files of a folder sorted by name: *.tsv, STS*.input.*.txt, sts-*.csv (the
// benchmark) and SICK_*.txt. Tables with sentences but no score (GLUE's tests) are skipped. Throws
// Error for a folder without any.
std::vector<PairSet> load_pair_sets(const std::filesystem::path& place);

}  // namespace reprise::workloads::sentences
