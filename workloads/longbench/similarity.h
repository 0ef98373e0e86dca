// Similarity of two lines: fuzzywuzzy's `ratio`, by which LongBench scores code.
#pragma once

#include <string_view>

namespace reprise::workloads::longbench {

// fuzzywuzzy uses Python's difflib unless the package python-Levenshtein is installed; the two give
// different values. LongBench's list of requirements does not have that package.
enum class LineMatcher {
  // 2 M / (characters of both). M is the number of characters in the longest common block and,
  // recursively, in the blocks to its left and right. If the answer has 200 characters or more, no
  // block begins with a character that is frequent in the answer.
  kDifflib,
  // 1 - d / (characters of both); d is the number of insertions and deletions between the lines.
  kLevenshtein,
};

// Returns the similarity from 0 to 1, rounded to hundredths, halves to even. Equal texts give 1; an
// empty and a non-empty text give 0. Characters are code points.
double line_similarity(std::u32string_view prediction, std::u32string_view answer,
                       LineMatcher matcher);

}  // namespace reprise::workloads::longbench
