// Output of the commands: results on standard output, where a failed write is an error, and notes
// on standard error.
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/visible.h"

namespace reprise::app {

// Thrown if standard output cannot be written.
class OutputError : public Error {
 public:
  explicit OutputError(int code);
  // True if the reader of a pipe has closed it, as in `| head -1`. Then no error is printed.
  [[nodiscard]] bool is_closed_pipe() const { return is_closed_pipe_; }

 private:
  bool is_closed_pipe_;
};

// Writes bytes unchanged, for other programs. Throws OutputError.
void write_output(std::string_view bytes);
// Throws OutputError if anything written so far could not be delivered.
void flush_output();
// Writes a note. If the stream refuses it, the note is lost and the command continues.
void write_note(std::string_view text, std::FILE* out = stderr);

// print() and note() write text for people, with control characters escaped (see visible()).
template <typename... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  write_output(visible(fmt::format(format, std::forward<Args>(args)...)));
}
template <typename... Args>
void note(fmt::format_string<Args...> format, Args&&... args) {
  write_note(visible(fmt::format(format, std::forward<Args>(args)...)));
}

// Writes progress, without escaping its cursor movements. If the stream refuses the text, it is
// lost.
template <typename... Args>
void tell(std::FILE* out, fmt::format_string<Args...> format, Args&&... args) {
  write_note(fmt::format(format, std::forward<Args>(args)...), out);
}

}  // namespace reprise::app
