// Structs that list their fields for visitors, and two visitors: one reads the fields and one
// writes them.
//
//   struct Spread {
//     double low = 0, high = 0;
//     std::optional<int64_t> count;
//     template <typename Self, typename Visitor>
//     static void visit(Self& self, Visitor& visitor) {
//       visitor.required("low", self.low);
//       visitor.required("high", self.high);
//       visitor.optional("count", self.count);
//     }
//   };
//
// This one list is used to read, write and check a struct. Reading checks each field's type, that
// numbers are finite, and that a terminal can print the texts. The struct itself checks rules that
// relate several fields.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/base/value.h"

namespace reprise {

// Upper bounds for values that are read: bytes of a name, bytes of any other text, magnitude of a
// number.
inline constexpr size_t kLongestName = 1000;
inline constexpr size_t kLongestText = 10000;
inline constexpr double kLargestNumber = 1e18;

// True if `text`, which comes from a file, can be printed unchanged: it has at most `most` bytes
// and no control characters (C0, DEL, C1), which a terminal would obey.
[[nodiscard]] bool is_plain_text(std::string_view text, size_t most);

// Thrown if a struct cannot be read from its fields. `text` names the field. It says that the field
// is missing, or which value was found and which values are accepted.
struct FieldFault {
  std::string text;
};

// Reads a struct. Fields that no visit() names are ignored, so that older programs read newer
// files.
class FieldReader {
 public:
  // `path` is the prefix of field names in faults, such as "metrics.ttft_ms"; "" if `fields` are a
  // whole file or line.
  FieldReader(const Fields& fields, std::string path) : fields_(fields), path_(std::move(path)) {}

  // Throws FieldFault if the field is missing or its value is not accepted.
  template <typename T>
  void required(const char* name, T& field) {
    const Value& found = field_of(fields_, name);
    if (found.is_null()) throw FieldFault{where(name) + " is missing"};
    read(found, where(name), field);
  }
  // If the field is missing or null, leaves `field` unchanged.
  template <typename T>
  void optional(const char* name, T& field) {
    if (const Value& found = field_of(fields_, name); !found.is_null())
      read(found, where(name), field);
  }
  // Does what optional() does, for a field that FieldWriter always writes.
  template <typename T>
  void defaulted(const char* name, T& field) {
    optional(name, field);
  }
  // Like required(), for a text of 1 to kLongestName bytes.
  void name(const char* name, std::string& field);
  // Reads `part`, a struct whose fields are stored in the same object as the enclosing struct's own
  // fields, if the field named `first` is present. Otherwise leaves `part` unchanged.
  template <typename T>
  void among(const char* first, std::optional<T>& part) {
    if (field_of(fields_, first).is_null()) return;
    T::visit(part.emplace(), *this);
  }
  // Reads one entry of a map whose entries are stored in the same object as the struct's own
  // fields.
  template <typename T>
  void entry(const char* name, std::map<std::string, T>& entries) {
    if (const Value& found = field_of(fields_, name); !found.is_null())
      read(found, where(name), entries[name]);
  }
  // Checks a stored number against `value`, which the caller computed from other fields. Throws
  // FieldFault if the number is missing, or if its relative difference from `value` exceeds 1e-9
  // (as when somebody has edited only the other fields).
  void derived(const char* name, double value);

  static void read(const Value& found, const std::string& what, double& field);
  static void read(const Value& found, const std::string& what, int64_t& field);
  static void read(const Value& found, const std::string& what, bool& field);
  static void read(const Value& found, const std::string& what, std::string& field);
  static void read(const Value& found, const std::string& what, Fields& field);
  static void read(const Value& found, const std::string& what, Value& field);
  template <typename T>
  static void read(const Value& found, const std::string& what, std::optional<T>& field) {
    read(found, what, field.emplace());
  }
  template <typename T>
  static void read(const Value& found, const std::string& what, std::vector<T>& field) {
    field.clear();
    const Values& list = list_of(found, what);
    for (size_t i = 0; i < list.size(); ++i)
      read(list[i], fmt::format("{}.{}", what, i), field.emplace_back());
  }
  template <typename T>
  static void read(const Value& found, const std::string& what, std::map<std::string, T>& field) {
    field.clear();
    for (const auto& [name, value] : object_of(found, what)) {
      require_name(name, what);
      read(value, what + "." + name, field[name]);
    }
  }
  template <typename T>
  requires requires(T& value, FieldReader& reader) { T::visit(value, reader); }
  static void read(const Value& found, const std::string& what, T& field) {
    FieldReader reader(object_of(found, what), what);
    T::visit(field, reader);
  }

 private:
  [[nodiscard]] std::string where(const char* name) const {
    return path_.empty() ? name : path_ + "." + name;
  }
  static const Values& list_of(const Value& found, const std::string& what);
  static const Fields& object_of(const Value& found, const std::string& what);
  // Throws FieldFault if `name`, the name of a field of `what`, cannot be printed.
  static void require_name(const std::string& name, const std::string& what);

  const Fields& fields_;
  std::string path_;
};

template <typename T>
[[nodiscard]] Fields written_fields(const T& value);

// Writes a struct as fields.
class FieldWriter {
 public:
  explicit FieldWriter(Fields& fields) : fields_(fields) {}

  template <typename T>
  void required(const char* name, const T& field) {
    fields_[name] = written(field);
  }
  template <typename T>
  void defaulted(const char* name, const T& field) {
    required(name, field);
  }
  // Writes the field unless it is false, null, nullopt, or an empty text, list or map.
  template <typename T>
  void optional(const char* name, const T& field) {
    if (!is_absent(field)) fields_[name] = written(field);
  }
  void name(const char* name, const std::string& field) { fields_[name] = field; }
  template <typename T>
  void among(const char* /*first*/, const std::optional<T>& part) {
    if (part) T::visit(*part, *this);
  }
  template <typename T>
  void entry(const char* name, const std::map<std::string, T>& entries) {
    if (const auto found = entries.find(name); found != entries.end())
      fields_[name] = written(found->second);
  }
  void derived(const char* name, double value) { fields_[name] = value; }

  template <typename T>
  static Value written(const T& field) {
    if constexpr (requires(Fields & fields, FieldWriter & writer) { T::visit(field, writer); }) {
      return written_fields(field);
    } else {
      return field;
    }
  }
  template <typename T>
  static Value written(const std::optional<T>& field) {
    return written(*field);
  }
  template <typename T>
  static Value written(const std::vector<T>& field) {
    Values list;
    for (const T& one : field) list.push_back(written(one));
    return list;
  }
  template <typename T>
  static Value written(const std::map<std::string, T>& field) {
    Fields fields;
    for (const auto& [name, value] : field) fields[name] = written(value);
    return fields;
  }

 private:
  static bool is_absent(bool field) { return !field; }
  static bool is_absent(const Value& field) { return field.is_null(); }
  template <typename T>
  static bool is_absent(const std::optional<T>& field) {
    return !field.has_value();
  }
  template <typename T>
  requires requires(const T& field) { field.empty(); }
  static bool is_absent(const T& field) { return field.empty(); }

  Fields& fields_;
};

// Reads a struct from fields. `what` names the struct in faults. Throws FieldFault.
template <typename T>
[[nodiscard]] T read_fields(const Value& value, const std::string& what = "") {
  T read;
  if (!value.is_fields())
    throw FieldFault{what.empty()
                         ? "it is no JSON object"
                         : fmt::format("{} must be an object, found {}", what, shown(value))};
  FieldReader reader(value.fields(), what);
  T::visit(read, reader);
  return read;
}

template <typename T>
Fields written_fields(const T& value) {
  Fields fields;
  FieldWriter writer(fields);
  T::visit(value, writer);
  return fields;
}

}  // namespace reprise
