#include "server/head_lines.h"

#include <strings.h>

#include <algorithm>

#include "server/api_error.h"

namespace reprise::server {
namespace {

// RFC 9110, 5.6.2.
bool is_token(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kMarks.find(c) != kMarks.npos;
  });
}

bool is_control(char c) { return (c >= 0 && c < ' ' && c != '\t') || c == '\x7F'; }

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

[[noreturn]] void refuse_line(std::string_view line, const char* what) {
  std::string shown(line.substr(0, 50));
  std::replace_if(shown.begin(), shown.end(), is_control, '?');
  refuse(400, "", "the header line \"{}\" {}", shown, what);
}

}  // namespace

void HeadLines::take(std::string_view bytes) {
  for (const char c : bytes) {
    line_ += c;
    if (c == '\n') end_line();
  }
}

void HeadLines::end_line() {
  std::string_view line = line_;
  if (!line.ends_with("\r\n")) refuse_line(line, "ends with LF alone: end lines with CR LF");
  line.remove_suffix(2);
  if (std::any_of(line.begin(), line.end(), is_control))
    refuse_line(line, "holds a control character: leave it out");
  if (!is_first_ && !line.empty()) {
    const size_t colon = line.find(':');
    const std::string name(line.substr(0, colon));
    if (colon == line.npos || !is_token(name))
      refuse_line(line, "does not begin with a name and a colon, without spaces before them");
    if (::strcasecmp(name.c_str(), "Content-Length") == 0)
      lengths_.push_back(trimmed(line.substr(colon + 1)));
    else if (::strcasecmp(name.c_str(), "Transfer-Encoding") == 0)
      encodings_.push_back(trimmed(line.substr(colon + 1)));
  }
  is_first_ = false;
  line_.clear();
}

}  // namespace reprise::server
