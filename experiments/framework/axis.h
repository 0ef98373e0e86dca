// The axes of an experiment, and the values of axes: integers, real numbers and words.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/base/value.h"

namespace reprise::experiments {

// The value of an axis. Integers and reals differ even if they are the same number: 4.0 is not 4.
class AxisValue {
 public:
  AxisValue() : value_(int64_t{0}) {}
  // NOLINTBEGIN(google-explicit-constructor): implicit, so that a value is written 8 or "poisson"
  template <std::integral T>
  requires(!std::same_as<T, bool>) AxisValue(T value) : value_(static_cast<int64_t>(value)) {}
  // The value must be finite (CHECK). -0.0 becomes 0.0, so that equal values have equal ids.
  AxisValue(double value);
  AxisValue(std::string word) : value_(std::move(word)) {}
  AxisValue(const char* word) : value_(std::string(word)) {}
  // NOLINTEND(google-explicit-constructor)

  // integer(), real() and word() return the value, which must have that type (CHECK).
  [[nodiscard]] int64_t integer() const;
  [[nodiscard]] double real() const;
  [[nodiscard]] const std::string& word() const;
  // True if the value is an integer or a real number.
  [[nodiscard]] bool is_number() const { return !std::holds_alternative<std::string>(value_); }

  // The value as in experiment files, records and hashes: 8, 0.5, "poisson".
  [[nodiscard]] Value value() const;
  [[nodiscard]] std::string text() const;  // without quotes
  bool operator==(const AxisValue&) const = default;

 private:
  std::variant<int64_t, double, std::string> value_;
};

// The values that an axis accepts; ranges include both ends.
struct Integers {
  int64_t low = 0, high = 0;
};
struct Reals {
  double low = 0, high = 0;
};
struct Words {
  std::vector<std::string> names;
};
// Accepts any text, e.g. a column's heading.
struct AnyText {
  size_t most_bytes = 1000;
};

// A setting that an experiment file may fix or sweep.
struct Axis {
  std::string name;
  // The value if the file does not set the axis.
  AxisValue fallback;
  std::variant<Integers, Reals, Words, AnyText> accepted;
  std::string unit;
  std::string help;
  // True if the axis was added to its kind after records had been written. Then the ids of points
  // at which the axis has its fallback leave the axis out, so that older records keep their ids.
  bool came_later = false;

  // Converts `given`. An integer is accepted as a real number, and a real number without fraction
  // as an integer. The Error for any other value has `where`, the value, and the accepted range or
  // the accepted words with the nearest of them.
  [[nodiscard]] AxisValue read(const Value& given, const std::string& where) const;
  // For messages: "1 to 4096", "poisson, constant".
  [[nodiscard]] std::string accepted_text() const;
  [[nodiscard]] bool takes_numbers() const {
    return std::holds_alternative<Integers>(accepted) || std::holds_alternative<Reals>(accepted);
  }
};

}  // namespace reprise::experiments
