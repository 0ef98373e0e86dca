#include "workloads/questions/item.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/tokenizer/python_text.h"
#include "workloads/longbench/documents.h"

namespace reprise::workloads::questions {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string first_line(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\f\v";
  const std::string_view line = text.substr(0, text.find('\n'));
  const size_t first = line.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return "";
  return std::string(line.substr(first, line.find_last_not_of(kBlank) - first + 1));
}

// Returns the last number in the text without leading zeros, so that "007" and "7" are equal.
std::string last_number(std::string_view text) {
  size_t end = text.size();
  while (end > 0 && !is_digit(text[end - 1])) --end;
  size_t first = end;
  while (first > 0 && is_digit(text[first - 1])) --first;
  while (first + 1 < end && text[first] == '0') ++first;
  return std::string(text.substr(first, end - first));
}

// Lower-cases ASCII letters; other bytes stay as they are.
std::string words_of(std::string_view text) {
  std::string out;
  bool has_gap = false;
  for (const char c : text) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    if (!is_upper && !is_digit(c) && !(c >= 'a' && c <= 'z') &&
        static_cast<unsigned char>(c) < 0x80) {
      has_gap = true;
      continue;
    }
    if (has_gap && !out.empty()) out.push_back(' ');
    has_gap = false;
    out.push_back(is_upper ? static_cast<char>(c - 'A' + 'a') : c);
  }
  return out;
}

std::string first_capital(std::string_view text) {
  const std::u32string codes = python::code_points(text);
  const auto found = std::find_if(codes.begin(), codes.end(), python::is_upper);
  return found == codes.end() ? "" : python::utf8({&*found, 1});
}

bool contains_words(const std::string& text, const std::string& words) {
  return (" " + text + " ").find(" " + words + " ") != std::string::npos;
}

}  // namespace

std::string Item::text() const {
  std::string all = preamble;
  for (const std::string& document : documents) all += document;
  return all + question + cue;
}

std::string judged_text(const Item& item, std::string_view generated) {
  switch (item.judgement) {
    case Judgement::kFirstLine:
      return first_line(generated);
    case Judgement::kLastNumber:
      return last_number(generated);
    case Judgement::kContains:
      return words_of(generated);
    case Judgement::kFirstCapital:
      return first_capital(generated);
    case Judgement::kLongBench:
      return std::string(generated);
  }
  return "";
}

bool is_right(const Item& item, std::string_view generated) {
  const std::string text = judged_text(item, generated);
  return std::any_of(item.answers.begin(), item.answers.end(), [&](const std::string& answer) {
    switch (item.judgement) {
      case Judgement::kFirstLine:
      case Judgement::kFirstCapital:
        return text == answer;
      case Judgement::kLastNumber:
        return !text.empty() && text == last_number(answer);
      case Judgement::kContains:
        return contains_words(text, words_of(answer));
      case Judgement::kLongBench:
        break;
    }
    REPRISE_CHECK(false, "question {} is scored by its dataset", item.id);
    return false;
  });
}

bool is_right_choice(const Item& item, std::span<const double> log_likelihoods) {
  REPRISE_CHECK(!item.choices.empty() && log_likelihoods.size() == item.choices.size(),
                "{} likelihoods of {} choices", log_likelihoods.size(), item.choices.size());
  const auto best = std::max_element(log_likelihoods.begin(), log_likelihoods.end());
  const std::string& chosen = item.choices[static_cast<size_t>(best - log_likelihoods.begin())];
  return std::find(item.answers.begin(), item.answers.end(), chosen) != item.answers.end();
}

std::vector<std::string> modules_of(const Item& item, Grouping grouping) {
  if (grouping == Grouping::kDocuments || item.documents.empty()) return item.documents;
  std::vector<std::string> modules;
  if (grouping == Grouping::kWhole) modules.emplace_back();
  for (const std::string& document : item.documents) {
    if (grouping == Grouping::kWhole) {
      modules[0] += document;
      continue;
    }
    for (std::string& paragraph :
         longbench::cut_documents(document, {.kind = longbench::DocumentRule::Kind::kParagraphs}))
      modules.push_back(std::move(paragraph));
  }
  return modules;
}

}  // namespace reprise::workloads::questions
