// How alike two lines are: fuzzywuzzy's `ratio`, by which LongBench scores code.
#pragma once

#include <string_view>

namespace reprise::workloads::longbench {

// fuzzywuzzy compares with Python's difflib, unless the package python-Levenshtein is installed
// beside it; the two differ. LongBench's own list of requirements does not have that package.
enum class LineMatcher {
  kDifflib,      // 2 M / (characters of both), M from the longest common block and then those left
                 // and right of it; in an answer of 200 characters or more, those that are frequent
                 // in it begin no block
  kLevenshtein,  // 1 - d / (characters of both), d insertions and deletions that turn one to other
};

// 0 to 1, a whole number of hundredths: halves are rounded to the even one. Equal texts have 1,
// an empty one and another 0. Characters are code points.
double line_similarity(std::u32string_view prediction, std::u32string_view answer,
                       LineMatcher matcher);

}  // namespace reprise::workloads::longbench
