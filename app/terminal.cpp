#include "app/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace reprise::app {

namespace {

constexpr size_t kLeast = 20;

size_t columns_or(std::FILE* out, size_t piped) {
  if (const char* wanted = std::getenv("COLUMNS"); wanted != nullptr) {
    const std::string_view text(wanted);
    size_t columns = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
    if (error == std::errc() && end == text.data() + text.size() && columns >= kLeast)
      return columns;
  }
  winsize size{};
  if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col < kLeast) return piped;
  return size.ws_col;
}

}  // namespace

size_t output_columns(std::FILE* out) {
  constexpr size_t kPiped = 120;
  return columns_or(out, kPiped);
}

size_t terminal_columns(std::FILE* out) { return columns_or(out, SIZE_MAX); }

}  // namespace reprise::app
