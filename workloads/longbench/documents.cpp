#include "workloads/longbench/documents.h"

#include <algorithm>

#include "core/base/error.h"

namespace reprise::workloads::longbench {
namespace {

struct Line {
  size_t begin = 0;
  std::string_view text;  // includes its line break
};

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    lines.push_back({begin, text.substr(begin, end - begin)});
    begin = end;
  }
  return lines;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos;
}

// True for "Passage 7:", "Passage 7: text", or "Passage 7" alone on its line.
bool is_heading(std::string_view line, std::string_view label, size_t number) {
  const std::string digits = std::to_string(number);
  if (!line.starts_with(label)) return false;
  line.remove_prefix(label.size());
  if (line.starts_with(' ')) line.remove_prefix(1);
  if (!line.starts_with(digits)) return false;
  line.remove_prefix(digits.size());
  return line.starts_with(':') || line.starts_with("\uff1a") || is_blank(line);
}

std::vector<size_t> paragraph_starts(const std::vector<Line>& lines) {
  std::vector<size_t> starts;
  bool was_blank = true;
  for (const Line& line : lines) {
    const bool is_start = was_blank && !is_blank(line.text);
    if (is_start) starts.push_back(line.begin);
    was_blank = is_blank(line.text);
  }
  return starts;
}

std::vector<size_t> starts_of(const std::vector<Line>& lines, const DocumentRule& rule) {
  if (rule.kind == DocumentRule::Kind::kWhole) return {};
  if (rule.kind == DocumentRule::Kind::kParagraphs) return paragraph_starts(lines);
  std::vector<size_t> starts;
  for (const Line& line : lines) {
    const bool is_start = rule.kind == DocumentRule::Kind::kNumbered
                              ? is_heading(line.text, rule.label, starts.size() + 1)
                              : line.text.starts_with(rule.label);
    if (is_start) starts.push_back(line.begin);
  }
  if (starts.empty())
    raise("the context has no line that begins with \"{}{}\", where its documents would be cut",
          rule.label, rule.kind == DocumentRule::Kind::kNumbered ? " 1" : "");
  return starts;
}

}  // namespace

std::vector<std::string> cut_documents(std::string_view context, const DocumentRule& rule) {
  if (context.empty()) raise("the context is empty, so that there is no document in it");
  std::vector<size_t> starts = starts_of(lines_of(context), rule);
  if (starts.empty())
    starts.push_back(0);
  else if (is_blank(context.substr(0, starts[0])))
    starts[0] = 0;
  else
    starts.insert(starts.begin(), 0);
  starts.push_back(context.size());
  std::vector<std::string> documents;
  for (size_t i = 0; i + 1 < starts.size(); ++i)
    documents.emplace_back(context.substr(starts[i], starts[i + 1] - starts[i]));
  return documents;
}

}  // namespace reprise::workloads::longbench
