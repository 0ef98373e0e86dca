#include "experiments/framework/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/fields.h"
#include "core/base/json.h"

namespace reprise::experiments {
namespace {

// True for a number without a fraction. JSON writers of other languages print integers as 1e9 or
// 32.0.
bool is_whole(const Value& given) {
  return given.is_integer() || (given.is_real() && std::trunc(given.number()) == given.number());
}

AxisValue read_integer(const Integers& range, const Value& given, const std::string& where) {
  if (!is_whole(given)) raise("{} must be a whole number, found {}", where, shown(given));
  // Compared as doubles, which is exact enough: every range ends far below the limit of an int64_t.
  const double rounded = given.number();
  if (rounded < static_cast<double>(range.low) || rounded > static_cast<double>(range.high))
    raise("{} is {}, it must be from {} to {}", where, shown(given), range.low, range.high);
  return given.is_real() ? static_cast<int64_t>(rounded) : given.integer();
}

AxisValue read_real(const Reals& range, const Value& given, const std::string& where) {
  if (!given.is_number()) raise("{} must be a number, found {}", where, shown(given));
  const double value = given.number();
  if (!std::isfinite(value)) raise("{} must be finite", where);
  if (value < range.low || value > range.high)
    raise("{} is {}, it must be from {} to {}", where, shown(given), range.low, range.high);
  return value;
}

AxisValue read_text(const AnyText& text, const Value& given, const std::string& where) {
  if (!given.is_text() || given.text().size() > text.most_bytes)
    raise("{} must be a text of at most {} bytes, found {}", where, text.most_bytes, shown(given));
  return given.text();
}

AxisValue read_word(const Words& words, const Value& given, const std::string& where) {
  if (!given.is_text())
    raise("{} must be one of {}, found {}", where, fmt::join(words.names, ", "), shown(given));
  const std::string& word = given.text();
  if (std::find(words.names.begin(), words.names.end(), word) == words.names.end())
    raise("{}: {}", where, unknown_name("value", word, words.names));
  return word;
}

}  // namespace

AxisValue::AxisValue(double value) : value_(value == 0 ? 0.0 : value) {
  REPRISE_CHECK(std::isfinite(value), "axis value {}", value);
}

int64_t AxisValue::integer() const {
  REPRISE_CHECK(std::holds_alternative<int64_t>(value_), "{} is no integer", text());
  return std::get<int64_t>(value_);
}

double AxisValue::real() const {
  REPRISE_CHECK(std::holds_alternative<double>(value_), "{} is no real", text());
  return std::get<double>(value_);
}

const std::string& AxisValue::word() const {
  REPRISE_CHECK(!is_number(), "{} is no word", text());
  return std::get<std::string>(value_);
}

Value AxisValue::value() const {
  return std::visit([](const auto& value) { return Value(value); }, value_);
}

std::string AxisValue::text() const { return is_number() ? json_text(value()) : word(); }

AxisValue Axis::read(const Value& given, const std::string& where) const {
  if (const auto* range = std::get_if<Integers>(&accepted))
    return read_integer(*range, given, where);
  if (const auto* range = std::get_if<Reals>(&accepted)) return read_real(*range, given, where);
  if (const auto* text = std::get_if<AnyText>(&accepted)) return read_text(*text, given, where);
  return read_word(std::get<Words>(accepted), given, where);
}

std::string Axis::accepted_text() const {
  if (const auto* range = std::get_if<Integers>(&accepted))
    return fmt::format("{} to {}", range->low, range->high);
  if (const auto* range = std::get_if<Reals>(&accepted))
    return fmt::format("{} to {}", range->low, range->high);
  if (const auto* text = std::get_if<AnyText>(&accepted))
    return fmt::format("a text of at most {} bytes", text->most_bytes);
  return fmt::format("{}", fmt::join(std::get<Words>(accepted).names, ", "));
}

}  // namespace reprise::experiments
