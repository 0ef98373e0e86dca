// Reads lines of bounded length, so that memory does not grow with the input.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>

namespace reprise::app {

class InputLines {
 public:
  // Keeps at most `most_bytes` bytes of each line and skips the rest. `source` names the input in
  // errors, such as "input" or a file. `in` must outlive this object.
  InputLines(std::istream& in, std::string source, size_t most_bytes);

  // Reads the next line, without its line feed. Returns false if there are no more lines. Throws
  // Error with the system's reason if the input cannot be read.
  [[nodiscard]] bool next();
  [[nodiscard]] const std::string& text() const { return text_; }
  // True if the line has more than `most_bytes` bytes; text() then holds the first `most_bytes`.
  [[nodiscard]] bool was_longer() const { return was_longer_; }
  [[nodiscard]] int64_t number() const { return number_; }  // line number, from 1
  [[nodiscard]] std::string where() const;                  // "input line 3"
  [[nodiscard]] size_t most_bytes() const { return most_bytes_; }

 private:
  std::istream& in_;
  std::string source_;
  size_t most_bytes_;
  std::unique_ptr<char[]> buffer_;  // NOLINT(modernize-avoid-c-arrays): not zeroed
  std::string text_;
  int64_t number_ = 0;
  bool was_longer_ = false;
};

}  // namespace reprise::app
