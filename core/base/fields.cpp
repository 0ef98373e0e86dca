#include "core/base/fields.h"

#include <algorithm>
#include <cmath>

#include "core/base/json.h"

namespace reprise {

bool is_plain_text(std::string_view text, size_t most) {
  if (text.size() > most) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7F) return false;
    if (c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0)
      return false;
  }
  return true;
}

void FieldReader::name(const char* name, std::string& field) {
  const Value& found = field_of(fields_, name);
  if (!found.is_text() || found.text().empty() || !is_plain_text(found.text(), kLongestName))
    throw FieldFault{
        fmt::format("{} must be a text of 1 to {} bytes without control characters, found {}",
                    where(name), kLongestName, shown(found))};
  field = found.text();
}

void FieldReader::derived(const char* name, double value) {
  double found = 0;
  required(name, found);
  if (!(std::abs(found - value) <= 1e-9 * std::max(std::abs(found), std::abs(value))))
    throw FieldFault{fmt::format("{} must be {:g}, which follows from its neighbours, found {:g}",
                                 where(name), value, found)};
}

void FieldReader::read(const Value& found, const std::string& what, double& field) {
  if (!found.is_number() || !(std::abs(found.number()) <= kLargestNumber))
    throw FieldFault{fmt::format("{} must be a number from -{:g} to {:g}, found {}", what,
                                 kLargestNumber, kLargestNumber, shown(found))};
  field = found.number();
}

void FieldReader::read(const Value& found, const std::string& what, int64_t& field) {
  if (found.is_int64()) {
    field = found.integer();
    return;
  }
  double number = 0;
  read(found, what, number);
  if (number != std::trunc(number))
    throw FieldFault{fmt::format("{} must be an integer, found {}", what, shown(found))};
  field = static_cast<int64_t>(number);
}

void FieldReader::read(const Value& found, const std::string& what, bool& field) {
  if (!found.is_bool())
    throw FieldFault{fmt::format("{} must be true or false, found {}", what, shown(found))};
  field = found.boolean();
}

void FieldReader::read(const Value& found, const std::string& what, std::string& field) {
  if (!found.is_text() || !is_plain_text(found.text(), kLongestText))
    throw FieldFault{
        fmt::format("{} must be a text of at most {} bytes without control characters, found {}",
                    what, kLongestText, shown(found))};
  field = found.text();
}

void FieldReader::read(const Value& found, const std::string& what, Fields& field) {
  field = object_of(found, what);
}

void FieldReader::read(const Value& found, const std::string& /*what*/, Value& field) {
  field = found;
}

const Values& FieldReader::list_of(const Value& found, const std::string& what) {
  if (!found.is_list())
    throw FieldFault{fmt::format("{} must be a list, found {}", what, shown(found))};
  return found.list();
}

const Fields& FieldReader::object_of(const Value& found, const std::string& what) {
  if (!found.is_fields())
    throw FieldFault{fmt::format("{} must be an object, found {}", what, shown(found))};
  return found.fields();
}

void FieldReader::require_name(const std::string& name, const std::string& what) {
  if (name.empty() || !is_plain_text(name, kLongestName))
    throw FieldFault{
        fmt::format("a name in {} must have 1 to {} bytes without control characters, found {}",
                    what, kLongestName, shown(name))};
}

}  // namespace reprise
