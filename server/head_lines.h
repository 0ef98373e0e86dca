// The lines of a request's head as they were sent. The library that parses them skips lines that it
// does not understand and decodes values; whoever stands in front of us may have read the same
// bytes otherwise, and would disagree on where the request ends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reprise::server {

class HeadLines {
 public:
  // More of the head, in pieces of any size. Throws ApiError (400) at the first line that is not
  // "NAME: VALUE" with a token for a name, holds a control character, or does not end with CRLF.
  void take(std::string_view bytes);

  // What tells the body's length: the values of all Content-Length and Transfer-Encoding lines.
  [[nodiscard]] const std::vector<std::string>& lengths() const { return lengths_; }
  [[nodiscard]] const std::vector<std::string>& encodings() const { return encodings_; }

 private:
  void end_line();

  std::string line_;  // the one that has not ended
  bool is_first_ = true;
  std::vector<std::string> lengths_, encodings_;
};

}  // namespace reprise::server
