#include "workloads/longbench/rouge.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/tokenizer/python_text.h"

namespace reprise::workloads::longbench {
namespace {

using Sentence = std::vector<int32_t>;  // word numbers
using CommonWords = std::set<int32_t>;

// Gives equal words the same number.
class Vocabulary {
 public:
  std::vector<Sentence> sentences(std::string_view text) {
    std::vector<Sentence> found;
    for (const std::u32string& part : python::split_at(python::code_points(text), U'.'))
      if (!part.empty()) found.push_back(sentence(part));
    return found;
  }

 private:
  Sentence sentence(const std::u32string& text) {
    std::vector<std::u32string> words = python::split(text);
    if (words.empty()) words.emplace_back();
    Sentence numbers;
    for (const std::u32string& word : words)
      numbers.push_back(
          numbers_.try_emplace(word, static_cast<int32_t>(numbers_.size())).first->second);
    return numbers;
  }

  std::map<std::u32string, int32_t> numbers_;
};

// lengths[i, j]: length of the longest common subsequence of x's first i and y's first j words.
class Lengths {
 public:
  Lengths(const Sentence& x, const Sentence& y)
      : columns_(y.size() + 1), lengths_((x.size() + 1) * columns_) {
    for (size_t i = 1; i <= x.size(); ++i)
      for (size_t j = 1; j <= y.size(); ++j)
        at(i, j) =
            x[i - 1] == y[j - 1] ? at(i - 1, j - 1) + 1 : std::max(at(i - 1, j), at(i, j - 1));
  }
  int32_t& at(size_t i, size_t j) { return lengths_[i * columns_ + j]; }

 private:
  size_t columns_;
  std::vector<int32_t> lengths_;  // [x.size() + 1, y.size() + 1]
};

// Adds the words of the subsequence that the package finds: it walks backwards and, if leaving out
// a word of x or of y gives equal lengths, leaves out the word of y. Returns false if the walk
// needs more than `most_calls` calls.
bool add_common_words(const Sentence& x, const Sentence& y, int64_t most_calls,
                      CommonWords& words) {
  // Each call drops a word of x, of y or of both; the last call finds one of them empty.
  const auto least_calls = static_cast<int64_t>(std::min(x.size(), y.size())) + 1;
  if (most_calls > 0 && least_calls > most_calls) return false;
  constexpr size_t kMostEntries = size_t{1} << 28;
  if (x.size() + 1 > kMostEntries / (y.size() + 1))
    raise("sentences of {} and {} words are too long to be compared; score shorter texts", x.size(),
          y.size());
  Lengths lengths(x, y);
  int64_t calls = 1;
  for (size_t i = x.size(), j = y.size(); i > 0 && j > 0; ++calls) {
    if (x[i - 1] == y[j - 1]) {
      words.insert(x[i - 1]);
      --i;
      --j;
    } else if (lengths.at(i - 1, j) > lengths.at(i, j - 1)) {
      --i;
    } else {
      --j;
    }
  }
  return most_calls == 0 || calls <= most_calls;
}

size_t count_distinct(const std::vector<Sentence>& sentences) {
  CommonWords words;
  for (const Sentence& sentence : sentences) words.insert(sentence.begin(), sentence.end());
  return words.size();
}

}  // namespace

double rouge_l(std::string_view prediction, std::string_view answer, const RougeOptions& options) {
  Vocabulary vocabulary;
  const std::vector<Sentence> predicted = vocabulary.sentences(prediction);
  const std::vector<Sentence> expected = vocabulary.sentences(answer);
  if (predicted.empty() || expected.empty()) return 0;
  CommonWords common;
  for (const Sentence& sentence : expected)
    for (const Sentence& other : predicted)
      if (!add_common_words(sentence, other, options.most_calls, common)) return 0;
  const auto found = static_cast<double>(common.size());
  const double recall = found / static_cast<double>(count_distinct(expected));
  const double precision = found / static_cast<double>(count_distinct(predicted));
  return 2.0 * ((precision * recall) / (precision + recall + 1e-8));
}

}  // namespace reprise::workloads::longbench
