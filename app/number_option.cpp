#include "app/number_option.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "core/base/error.h"
#include "core/base/weight_format.h"

namespace reprise::app {
namespace {

// True if all of `text` is one number.
template <typename Number>
bool reads(const std::string& text, Number& number) {
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, number);
  return error == std::errc() && stop == end;
}

// True for "007", false for "0" and "0.5".
bool has_leading_zero(const std::string& text) {
  const size_t digits = text.find_first_not_of("+-");
  return digits != std::string::npos && text.size() > digits + 1 && text[digits] == '0' &&
         std::isdigit(static_cast<unsigned char>(text[digits + 1])) != 0;
}

template <typename Number, typename Accepts>
CLI::Validator accepting(const std::string& what, const std::string& range, Accepts&& accepts) {
  return CLI::Validator(
      [what, range, accepts](std::string& text) {
        Number number{};
        const bool is_accepted = reads(text, number) && !has_leading_zero(text) && accepts(number);
        return is_accepted ? std::string() : fmt::format("\"{}\": give {} {}", text, what, range);
      },
      range);
}

// Accepts every text that `parse` accepts. The error is the message that `parse` throws.
CLI::Validator named(void (*parse)(const std::string& text)) {
  return CLI::Validator(
      [parse](std::string& text) {
        try {
          parse(text);
          return std::string();
        } catch (const Error& error) {
          return std::string(error.what());
        }
      },
      "");
}

}  // namespace

// Both comparisons must hold, so nan is refused: every comparison with nan is false.
CLI::Validator number_within(double low, double high) {
  return accepting<double>("a number from", fmt::format("{} to {}", low, high),
                           [=](double number) { return number >= low && number <= high; });
}

CLI::Validator number_above(double low, double high) {
  return accepting<double>("a number", fmt::format("above {}, at most {}", low, high),
                           [=](double number) { return number > low && number <= high; });
}

CLI::Validator integer_within(int64_t low, int64_t high) {
  return accepting<int64_t>("a whole number from", fmt::format("{} to {}", low, high),
                            [=](int64_t number) { return number >= low && number <= high; });
}

CLI::Validator seed_number() { return integer_within(0, INT64_MAX); }

CLI::Validator dtype_name() {
  return named([](const std::string& text) { (void)parse_dtype(text); });
}

CLI::Validator weight_format_name() {
  return named([](const std::string& text) { (void)parse_weight_format(text); });
}

CLI::Validator one_of(const std::string& what, const std::vector<std::string>& names) {
  return CLI::Validator(
      [what, names](std::string& text) {
        return std::find(names.begin(), names.end(), text) == names.end()
                   ? unknown_name(what, text, names)
                   : std::string();
      },
      "");
}

CLI::Validator not_empty() {
  return CLI::Validator(
      [](std::string& text) {
        return text.empty() ? std::string("it is empty: give a value, or leave the option out")
                            : std::string();
      },
      "");
}

}  // namespace reprise::app
