// A dynamically typed value, such as a setting of an experiment's point, an answer of a model or a
// fact about a machine. Files store values as JSON, which core/base/json.h reads and writes.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace reprise {

class Value;
using Values = std::vector<Value>;
using Fields = std::map<std::string, Value>;

// Null, a truth value, an integer, a real number, a text, a list or named fields. The constructors
// convert implicitly, so that a setting can be written as a plain C++ value.
class Value {
 public:
  // NOLINTBEGIN(google-explicit-constructor)
  Value() = default;
  Value(std::nullptr_t) {}
  template <typename T>
  requires std::same_as<T, bool> Value(T value) : value_(value) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Value(T value) {
    if (std::in_range<int64_t>(value))
      value_ = static_cast<int64_t>(value);
    else
      value_ = static_cast<uint64_t>(value);
  }
  template <std::floating_point T>
  Value(T value) : value_(static_cast<double>(value)) {}
  Value(std::string text) : value_(std::move(text)) {}
  Value(std::string_view text) : value_(std::string(text)) {}
  Value(const char* text) : value_(std::string(text)) {}
  Value(Values list) : value_(std::move(list)) {}
  Value(Fields fields) : value_(std::move(fields)) {}
  template <typename T>
  requires(!std::same_as<T, Value> && std::convertible_to<T, Value>)
      Value(const std::vector<T>& list)
      : value_(Values(list.begin(), list.end())) {}
  template <typename T>
  requires std::convertible_to<T, Value> Value(const std::optional<T>& value) {
    if (value) *this = Value(*value);
  }
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  [[nodiscard]] bool is_bool() const { return std::holds_alternative<bool>(value_); }
  [[nodiscard]] bool is_integer() const {
    return std::holds_alternative<int64_t>(value_) || std::holds_alternative<uint64_t>(value_);
  }
  [[nodiscard]] bool is_int64() const { return std::holds_alternative<int64_t>(value_); }
  [[nodiscard]] bool is_real() const { return std::holds_alternative<double>(value_); }
  [[nodiscard]] bool is_number() const { return is_integer() || is_real(); }
  [[nodiscard]] bool is_text() const { return std::holds_alternative<std::string>(value_); }
  [[nodiscard]] bool is_list() const { return std::holds_alternative<Values>(value_); }
  [[nodiscard]] bool is_fields() const { return std::holds_alternative<Fields>(value_); }

  // Access to a value of the function's type. CHECKs that the value has this type.
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] int64_t integer() const;
  [[nodiscard]] double number() const;  // also converts an integer
  // Returns the value if it is an integer of at least 0, else nullopt.
  [[nodiscard]] std::optional<uint64_t> whole() const;
  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] const Values& list() const;
  [[nodiscard]] Values& list();
  [[nodiscard]] const Fields& fields() const;
  [[nodiscard]] Fields& fields();

  // Number of entries of a list or of fields; 0 for any other value.
  [[nodiscard]] size_t size() const;
  // True if the value has a field of this name, even if the field is null.
  [[nodiscard]] bool contains(const std::string& name) const;

  // Numbers are compared by value, whether integer or real: 4 == 4.0.
  friend bool operator==(const Value& a, const Value& b);

  // Calls fn with the alternative that the value holds: std::monostate, bool, int64_t, uint64_t
  // (for integers above the largest int64_t), double, std::string, Values or Fields.
  template <typename Fn>
  decltype(auto) visit(Fn&& fn) const {
    return std::visit(std::forward<Fn>(fn), value_);
  }

 private:
  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, Values, Fields> value_;
};

// Returns the field of this name, or a null Value if there is none.
[[nodiscard]] const Value& field_of(const Fields& fields, const std::string& name);
// Returns the field of this name, or a null Value if there is none or if `value` is not a Fields.
[[nodiscard]] const Value& field_of(const Value& value, const std::string& name);
// Returns the text of a field, or `fallback` if the field is missing or not a text.
[[nodiscard]] std::string text_of(const Fields& fields, const std::string& name,
                                  const std::string& fallback = "");

// Copies the fields of `more` into `fields`; fields of the same names are replaced.
void update(Fields& fields, const Fields& more);

}  // namespace reprise
