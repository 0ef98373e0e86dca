#include "core/base/value.h"

#include "core/base/error.h"

namespace reprise {

bool Value::boolean() const {
  const bool* value = std::get_if<bool>(&value_);
  REPRISE_CHECK(value != nullptr, "the value is no truth value");
  return *value;
}

int64_t Value::integer() const {
  const int64_t* value = std::get_if<int64_t>(&value_);
  REPRISE_CHECK(value != nullptr, "the value is no integer of 64 bits");
  return *value;
}

double Value::number() const {
  if (const double* value = std::get_if<double>(&value_)) return *value;
  if (const uint64_t* value = std::get_if<uint64_t>(&value_)) return static_cast<double>(*value);
  return static_cast<double>(integer());
}

std::optional<uint64_t> Value::whole() const {
  if (const uint64_t* value = std::get_if<uint64_t>(&value_)) return *value;
  if (const int64_t* value = std::get_if<int64_t>(&value_); value != nullptr && *value >= 0)
    return static_cast<uint64_t>(*value);
  return std::nullopt;
}

const std::string& Value::text() const {
  const std::string* value = std::get_if<std::string>(&value_);
  REPRISE_CHECK(value != nullptr, "the value is no text");
  return *value;
}

const Values& Value::list() const {
  const Values* value = std::get_if<Values>(&value_);
  REPRISE_CHECK(value != nullptr, "the value is no list");
  return *value;
}
Values& Value::list() { return const_cast<Values&>(std::as_const(*this).list()); }

const Fields& Value::fields() const {
  const Fields* value = std::get_if<Fields>(&value_);
  REPRISE_CHECK(value != nullptr, "the value has no fields");
  return *value;
}
Fields& Value::fields() { return const_cast<Fields&>(std::as_const(*this).fields()); }

size_t Value::size() const {
  if (is_list()) return list().size();
  return is_fields() ? fields().size() : 0;
}

bool Value::contains(const std::string& name) const {
  return is_fields() && fields().contains(name);
}

bool operator==(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number() && (a.is_real() || b.is_real()))
    return a.number() == b.number();
  return a.value_ == b.value_;
}

const Value& field_of(const Fields& fields, const std::string& name) {
  static const Value kNull;
  const auto found = fields.find(name);
  return found == fields.end() ? kNull : found->second;
}

const Value& field_of(const Value& value, const std::string& name) {
  static const Fields kNone;
  return field_of(value.is_fields() ? value.fields() : kNone, name);
}

std::string text_of(const Fields& fields, const std::string& name, const std::string& fallback) {
  const Value& value = field_of(fields, name);
  return value.is_text() ? value.text() : fallback;
}

void update(Fields& fields, const Fields& more) {
  for (const auto& [name, value] : more) fields[name] = value;
}

}  // namespace reprise
