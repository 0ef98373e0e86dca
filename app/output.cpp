#include "app/output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace reprise::app {

OutputError::OutputError(int code)
    : Error(fmt::format("cannot write to standard output: {}. Is the disk full, or was it closed?",
                        std::strerror(code))),
      is_closed_pipe_(code == EPIPE) {}

void write_output(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) throw OutputError(errno);
}

void flush_output() {
  const bool had_failed = std::ferror(stdout) != 0;
  if (std::fflush(stdout) != 0) throw OutputError(errno);
  if (had_failed) throw OutputError(EIO);
}

// Does not use fmt::print(), which throws if the stream refuses the text.
void write_note(std::string_view text, std::FILE* out) {
  std::fwrite(text.data(), 1, text.size(), out);
}

}  // namespace reprise::app
