#include "app/number_option.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <string>

namespace reprise::app {
namespace {

// Whether all of `text` is one number.
template <typename Number>
bool reads(const std::string& text, Number& number) {
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, number);
  return error == std::errc() && stop == end;
}

template <typename Number>
CLI::Validator within(Number low, Number high, const char* what) {
  const std::string range = fmt::format("{} from {} to {}", what, low, high);
  return CLI::Validator(
      [low, high, range](std::string& text) {
        Number number{};
        // Not "number < low": nan is below nothing.
        const bool is_accepted = reads(text, number) && number >= low && number <= high;
        return is_accepted ? std::string() : fmt::format("{}: give {}", text, range);
      },
      fmt::format("{} to {}", low, high));
}

}  // namespace

CLI::Validator number_within(double low, double high) { return within(low, high, "a number"); }

CLI::Validator integer_within(int64_t low, int64_t high) {
  return within(low, high, "a whole number");
}

}  // namespace reprise::app
