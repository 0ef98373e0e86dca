// What the commands print: results on standard output, where a failed write is an error, and notes
// on standard error.
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/visible.h"

namespace reprise::app {

// Standard output takes no more.
class OutputError : public Error {
 public:
  explicit OutputError(int code);
  // Who read it has gone (`| head -1`): nobody wants to hear of it.
  [[nodiscard]] bool is_closed_pipe() const { return is_closed_pipe_; }

 private:
  bool is_closed_pipe_;
};

// Bytes for other programs, as they are. Throws OutputError.
void write_output(std::string_view bytes);
// Throws OutputError where anything that was written until now did not arrive.
void flush_output();
// A note that the stream refuses is lost; the command goes on.
void write_note(std::string_view text, std::FILE* out = stderr);

// Text for people: see visible().
template <typename... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  write_output(visible(fmt::format(format, std::forward<Args>(args)...)));
}
template <typename... Args>
void note(fmt::format_string<Args...> format, Args&&... args) {
  write_note(visible(fmt::format(format, std::forward<Args>(args)...)));
}

// Progress, with what moves the cursor as it is: to a stream that may be refused, as a note's.
template <typename... Args>
void tell(std::FILE* out, fmt::format_string<Args...> format, Args&&... args) {
  write_note(fmt::format(format, std::forward<Args>(args)...), out);
}

}  // namespace reprise::app
