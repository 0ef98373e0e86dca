// What an experiment sweeps: axes, and their values, each an integer, a real or a word.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/base/json.h"

namespace reprise::experiments {

// A rate and a count are different values even where they are the same number: 4.0 is not 4.
class AxisValue {
 public:
  AxisValue() : value_(int64_t{0}) {}
  // NOLINTBEGIN(google-explicit-constructor): a value is written as what it is
  template <std::integral T>
  requires(!std::same_as<T, bool>) AxisValue(T value) : value_(static_cast<int64_t>(value)) {}
  // Finite (CHECK). -0.0 becomes 0.0, so that equal values have equal ids.
  AxisValue(double value);
  AxisValue(std::string word) : value_(std::move(word)) {}
  AxisValue(const char* word) : value_(std::string(word)) {}
  // NOLINTEND(google-explicit-constructor)

  // Of the type that the value has (CHECK).
  [[nodiscard]] int64_t integer() const;
  [[nodiscard]] double real() const;
  [[nodiscard]] const std::string& word() const;
  // Whether "more" and "less" mean something between values of the axis.
  [[nodiscard]] bool is_number() const { return !std::holds_alternative<std::string>(value_); }

  // As it stands in experiment files, records and hashes: 8, 0.5, "poisson".
  [[nodiscard]] Json json() const;
  [[nodiscard]] std::string text() const;  // without quotes
  bool operator==(const AxisValue&) const = default;

 private:
  std::variant<int64_t, double, std::string> value_;
};

// What an axis accepts; both ends included.
struct Integers {
  int64_t low = 0, high = 0;
};
struct Reals {
  double low = 0, high = 0;
};
struct Words {
  std::vector<std::string> names;
};
// Of any text, such as a column's heading.
struct AnyText {
  size_t most_bytes = 1000;
};

// What an experiment file may set or sweep.
struct Axis {
  std::string name;
  AxisValue fallback;  // where the file says nothing
  std::variant<Integers, Reals, Words, AnyText> accepted;
  std::string unit;
  std::string help;
  // It came when there were records already: at its fallback points are not named after it, so that
  // their ids stay what they are.
  bool came_later = false;

  // The value that `given` stands for. A whole number serves as a real, and a real without fraction
  // as an integer. Throws Error beginning with `where`, with what was found and what is accepted:
  // the range, or the words and the nearest of them.
  [[nodiscard]] AxisValue read(const Json& given, const std::string& where) const;
  // "1 to 4096", "poisson, constant".
  [[nodiscard]] std::string accepted_text() const;
  [[nodiscard]] bool takes_numbers() const {
    return std::holds_alternative<Integers>(accepted) || std::holds_alternative<Reals>(accepted);
  }
};

}  // namespace reprise::experiments
