// The scores of LongBench (Bai et al., 2023), one prediction against one answer, from 0 to 1: the
// official scorers' values to the last bit, their oddities included. ROUGE-L is in rouge.h.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "workloads/longbench/similarity.h"

namespace reprise::workloads::longbench {

// F1 over words, counted as often as they occur in both. 0 where none is in common.
double word_f1(std::span<const std::string> prediction, std::span<const std::string> answer);

// F1 over the words between spaces, after lower case, without ASCII punctuation, and without the
// words a, an and the. Punctuation goes first: "the-end" is the one word "theend".
double qa_f1(std::string_view prediction, std::string_view answer);

// The same for texts that are cut into words already (words.h): each word in lower case, without
// ASCII and Chinese punctuation and spaces; what is then empty is left out. The official list of
// Chinese punctuation lacks some, such as the opening U+300A of a book's title.
double qa_f1_zh(std::span<const std::string> prediction, std::span<const std::string> answer);

// 1 / (classes that the prediction contains) where the answer is among them, else 0. A class that
// is part of the answer's own name is not counted, with the official exception: the one listed
// right behind one that was just struck out is not looked at.
double classification(std::string_view prediction, std::string_view answer,
                      std::span<const std::string> classes);

// The share of the prediction's numbers that are the one in the answer's first "Paragraph N", or
// "段落N". Throws Error for an answer without. Numbers are compared as text: "07" is not "7".
double retrieval(std::string_view prediction, std::string_view answer);
double retrieval_zh(std::string_view prediction, std::string_view answer);

// The share of the prediction's numbers that are the answer.
double count(std::string_view prediction, std::string_view answer);

// line_similarity() of the answer and the prediction's first line without a backtick, '#' or "//";
// leading line breaks are passed over.
double code_similarity(std::string_view prediction, std::string_view answer, LineMatcher matcher);

// What is scored of a few-shot prediction: the first line after leading line breaks.
std::string first_line(std::string_view prediction);

}  // namespace reprise::workloads::longbench
