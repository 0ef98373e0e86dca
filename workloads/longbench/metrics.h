// LongBench's scores (Bai et al., 2023) of one prediction against one answer, from 0 to 1. They
// equal the official scorers' values to the last bit, oddities included. ROUGE-L is in rouge.h.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "workloads/longbench/similarity.h"

namespace reprise::workloads::longbench {

// F1 over words. A word that one text has m times and the other n times counts as shared min(m, n)
// times. Returns 0 if no word is shared.
double word_f1(std::span<const std::string> prediction, std::span<const std::string> answer);

// F1 over words between spaces, in lower case, without ASCII punctuation and the articles a, an,
// the. Punctuation is removed first, so "the-end" is the one word "theend".
double qa_f1(std::string_view prediction, std::string_view answer);

// qa_f1() for texts that are already cut into words (words.h). Puts the words into lower case,
// removes ASCII and Chinese punctuation and spaces from them, and drops empty words. The official
// list of Chinese punctuation lacks some characters, such as U+300A, which opens a book's title;
// these are not removed.
double qa_f1_zh(std::span<const std::string> prediction, std::span<const std::string> answer);

// Returns 1 / n if the prediction contains the names of n classes and the answer is one of them,
// else 0. A class whose name is part of the answer's name is struck out and does not count. As in
// the official code, the class listed right after a struck-out class is not checked.
double classification(std::string_view prediction, std::string_view answer,
                      std::span<const std::string> classes);

// Returns the share of the prediction's numbers that equal N, the number in the answer's first
// "Paragraph N" (retrieval) or "段落N" (retrieval_zh). Numbers are compared as text: "07" is not
// "7". Throws Error for an answer without such a number.
double retrieval(std::string_view prediction, std::string_view answer);
double retrieval_zh(std::string_view prediction, std::string_view answer);

// Returns the share of the prediction's numbers that equal the answer.
double count(std::string_view prediction, std::string_view answer);

// line_similarity() of the answer and the first line of the prediction that has no backtick, '#' or
// "//". Leading line breaks are skipped.
double code_similarity(std::string_view prediction, std::string_view answer, LineMatcher matcher);

// Returns the first line after leading line breaks, the part of a few-shot prediction that is
// scored.
std::string first_line(std::string_view prediction);

}  // namespace reprise::workloads::longbench
