#include "app/input_lines.h"

#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "core/base/error.h"

namespace reprise::app {

InputLines::InputLines(std::istream& in, std::string source, size_t most_bytes)
    : in_(in),
      source_(std::move(source)),
      most_bytes_(most_bytes),
      // One byte more than a line, for the NUL that getline() writes.
      buffer_(std::make_unique_for_overwrite<char[]>(most_bytes + 1)) {}  // NOLINT

bool InputLines::next() {
  errno = 0;
  in_.getline(buffer_.get(), static_cast<std::streamsize>(most_bytes_ + 1));
  auto bytes = static_cast<size_t>(in_.gcount());
  was_longer_ = in_.fail() && !in_.bad() && bytes == most_bytes_;
  if (was_longer_) {
    in_.clear();
    in_.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  if (in_.bad())
    raise("{} cannot be read{}: {}", source_,
          number_ > 0 ? fmt::format(" behind line {}", number_) : "",
          errno != 0 ? std::strerror(errno) : "the system gives no reason");
  if (in_.fail()) return false;
  if (!was_longer_ && !in_.eof()) --bytes;  // the line feed counts, too
  text_.assign(buffer_.get(), bytes);
  ++number_;
  return true;
}

std::string InputLines::where() const { return fmt::format("{} line {}", source_, number_); }

}  // namespace reprise::app
