#include "workloads/longbench/metrics.h"

#include <algorithm>
#include <map>
#include <vector>

#include "core/base/error.h"
#include "core/tokenizer/python_text.h"

namespace reprise::workloads::longbench {
namespace {

bool is_ascii_punctuation(char32_t code) {
  return (code >= U'!' && code <= U'/') || (code >= U':' && code <= U'@') ||
         (code >= U'[' && code <= U'`') || (code >= U'{' && code <= U'~');
}

// True for the characters of the official list, given as ranges. It lacks U+201A, U+300A, U+3008
// and U+FF0E.
bool is_chinese_punctuation(char32_t code) {
  struct CodeRange {
    char32_t first, last;
  };
  constexpr CodeRange kRanges[] = {
      {0x2013, 0x2014}, {0x2018, 0x2019}, {0x201b, 0x201f}, {0x2026, 0x2027}, {0x3001, 0x3003},
      {0x300b, 0x3011}, {0x3014, 0x301f}, {0x3030, 0x3030}, {0x303e, 0x303f}, {0xfe4f, 0xfe4f},
      {0xff01, 0xff0d}, {0xff0f, 0xff0f}, {0xff1a, 0xff20}, {0xff3b, 0xff40}, {0xff5b, 0xff64}};
  return std::any_of(std::begin(kRanges), std::end(kRanges), [&](const CodeRange& range) {
    return code >= range.first && code <= range.last;
  });
}

// Replaces the words a, an and the by spaces. Words are runs of \w, so a word also ends before a
// combining mark.
std::u32string without_articles(std::u32string_view text) {
  std::u32string out;
  for (auto begin = text.begin(); begin != text.end();) {
    const auto end = std::find_if_not(begin, text.end(), python::is_word);
    const std::u32string_view word(begin, end);
    if (word == U"a" || word == U"an" || word == U"the")
      out += U' ';
    else
      out += word;
    begin = std::find_if(end, text.end(), python::is_word);
    out.append(end, begin);
  }
  return out;
}

std::vector<std::string> normalized_words(std::string_view text) {
  std::u32string codes = python::lower(python::code_points(text));
  std::erase_if(codes, is_ascii_punctuation);
  std::vector<std::string> words;
  for (const std::u32string& word : python::split(without_articles(codes)))
    words.push_back(python::utf8(word));
  return words;
}

std::vector<std::string> normalized_zh(std::span<const std::string> words) {
  std::vector<std::string> kept;
  for (const std::string& word : words) {
    std::u32string codes = python::lower(python::code_points(word));
    std::erase_if(codes, [](char32_t code) {
      return is_ascii_punctuation(code) || is_chinese_punctuation(code) || python::is_space(code);
    });
    if (!codes.empty()) kept.push_back(python::utf8(codes));
  }
  return kept;
}

// Returns the longest runs of digits.
std::vector<std::u32string> numbers_in(std::u32string_view text) {
  std::vector<std::u32string> numbers;
  for (auto begin = text.begin(); begin != text.end();) {
    begin = std::find_if(begin, text.end(), python::is_decimal);
    const auto end = std::find_if_not(begin, text.end(), python::is_decimal);
    if (begin != end) numbers.emplace_back(begin, end);
    begin = end;
  }
  return numbers;
}

double share_equal(const std::vector<std::u32string>& numbers, std::u32string_view wanted) {
  if (numbers.empty()) return 0;
  const auto right = std::count(numbers.begin(), numbers.end(), wanted);
  return static_cast<double>(right) / static_cast<double>(numbers.size());
}

// Returns the number after the first `label` in the answer that is followed by one.
std::u32string number_behind(std::u32string_view answer, std::u32string_view label) {
  for (size_t at = answer.find(label); at != std::u32string_view::npos;
       at = answer.find(label, at + 1)) {
    const auto begin = answer.begin() + static_cast<std::ptrdiff_t>(at + label.size());
    const auto end = std::find_if_not(begin, answer.end(), python::is_decimal);
    if (begin != end) return {begin, end};
  }
  raise("the answer \"{}\" names no \"{}N\"; it is not one of this dataset",
        python::utf8(answer.substr(0, 100)), python::utf8(label));
}

}  // namespace

double word_f1(std::span<const std::string> prediction, std::span<const std::string> answer) {
  std::map<std::string_view, int64_t> left;
  for (const std::string& word : answer) ++left[word];
  int64_t common = 0;
  for (const std::string& word : prediction)
    if (const auto found = left.find(word); found != left.end() && found->second > 0) {
      --found->second;
      ++common;
    }
  if (common == 0) return 0;
  const double precision = static_cast<double>(common) / static_cast<double>(prediction.size());
  const double recall = static_cast<double>(common) / static_cast<double>(answer.size());
  return (2 * precision * recall) / (precision + recall);
}

double qa_f1(std::string_view prediction, std::string_view answer) {
  return word_f1(normalized_words(prediction), normalized_words(answer));
}

double qa_f1_zh(std::span<const std::string> prediction, std::span<const std::string> answer) {
  return word_f1(normalized_zh(prediction), normalized_zh(answer));
}

double classification(std::string_view prediction, std::string_view answer,
                      std::span<const std::string> classes) {
  std::vector<std::string_view> found;
  for (const std::string& name : classes)
    if (prediction.find(name) != std::string_view::npos) found.push_back(name);
  // The official loop removes elements from the list over which it iterates, so it skips the
  // element after each removed one.
  for (size_t i = 0; i < found.size(); ++i) {
    const std::string_view name = found[i];
    if (name != answer && answer.find(name) != std::string_view::npos)
      found.erase(std::find(found.begin(), found.end(), name));
  }
  if (std::find(found.begin(), found.end(), answer) == found.end()) return 0;
  return 1.0 / static_cast<double>(found.size());
}

double retrieval(std::string_view prediction, std::string_view answer) {
  return share_equal(numbers_in(python::code_points(prediction)),
                     number_behind(python::code_points(answer), U"Paragraph "));
}

double retrieval_zh(std::string_view prediction, std::string_view answer) {
  return share_equal(numbers_in(python::code_points(prediction)),
                     number_behind(python::code_points(answer), U"\u6bb5\u843d"));
}

double count(std::string_view prediction, std::string_view answer) {
  return share_equal(numbers_in(python::code_points(prediction)), python::code_points(answer));
}

double code_similarity(std::string_view prediction, std::string_view answer, LineMatcher matcher) {
  const std::u32string codes = python::code_points(prediction);
  std::u32string line;
  for (const std::u32string& candidate :
       python::split_at(python::without_leading_newlines(codes), U'\n'))
    if (candidate.find(U'`') == std::u32string::npos &&
        candidate.find(U'#') == std::u32string::npos &&
        candidate.find(U"//") == std::u32string::npos) {
      line = candidate;
      break;
    }
  return line_similarity(line, python::code_points(answer), matcher);
}

std::string first_line(std::string_view prediction) {
  prediction.remove_prefix(std::min(prediction.find_first_not_of('\n'), prediction.size()));
  return std::string(prediction.substr(0, prediction.find('\n')));
}

}  // namespace reprise::workloads::longbench
