// A method's options: a struct that shows its fields to a visitor. Parsing, error messages, the
// help of `reprise list METHOD` and the copy in a record all use this one list.
//
//   struct MyOptions {
//     int32_t block_tokens = 64;
//     void visit(OptionVisitor& visitor) {
//       visitor.integer({"block_tokens", "tokens", "size of a block"}, {8, 128}, block_tokens);
//     }
//     // Optional: throws Error for values that must not be combined.
//     void check(const JsonObject& given) const;
//     // Optional: named sets of values; the first is the default.
//     static std::vector<Preset<MyOptions>> presets();
//   };
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/value.h"

namespace reprise::reuse {

struct OptionText {
  const char* name;
  const char* unit;  // "" for a number without unit
  const char* help;
};

// Both bounds are included.
struct IntegerRange {
  int64_t low = 0, high = 0;
  int64_t multiple_of = 1;
};
struct RealRange {
  double low = 0, high = 0;
};

// Each function visits one field, with the values that the field accepts.
class OptionVisitor {
 public:
  virtual ~OptionVisitor() = default;
  virtual void integer(const OptionText& text, const IntegerRange& accepted, int32_t& value) = 0;
  virtual void real(const OptionText& text, const RealRange& accepted, double& value) = 0;
  virtual void boolean(const OptionText& text, bool& value) = 0;
  virtual void word(const OptionText& text, const std::vector<std::string>& accepted,
                    std::string& value) = 0;
  // A field that takes any text; `accepted` describes the text for help.
  virtual void text(const OptionText& text, const char* accepted, std::string& value) = 0;
};

template <typename T>
struct Preset {
  std::string name;
  std::string help;
  T options;
};

// The options of a method that has none.
struct NoOptions {
  void visit(OptionVisitor& /*visitor*/) {}
};

// One option as `reprise list METHOD` shows it.
struct OptionInfo {
  std::string name, fallback, accepted, unit, help;
  bool is_file = false;  // the value is the path of a file that the method reads; "": none
};
struct PresetInfo {
  std::string name, help;
  Fields changes;  // {option: value} for values that differ from the defaults
};
struct OptionList {
  std::vector<OptionInfo> options;
  std::vector<PresetInfo> presets;
};

namespace detail {

using Visit = std::function<void(OptionVisitor&)>;
// Returns the index in `names` of the preset that `given` names under the key "preset", or 0 if
// `given` lacks this key.
size_t choose_preset(JsonObject& given, std::span<const std::string> names);
// Overwrites each field that `visit` shows and for which `given` has a key.
void read_values(JsonObject& given, const Visit& visit);
Fields written_values(const Visit& visit);
std::vector<OptionInfo> option_infos(const Visit& visit);
// Returns {option: value} for the values of `to` that differ from those of `from`.
Fields changes_of(const Fields& from, const Fields& to);

template <typename T>
concept HasPresets = requires {
  { T::presets() } -> std::same_as<std::vector<Preset<T>>>;
};
template <typename T>
concept HasCheck = requires(const T& options, const JsonObject& given) {
  options.check(given);
};
template <typename T>
Visit visit_of(T& options) {
  return [&options](OptionVisitor& visitor) { options.visit(visitor); };
}

}  // namespace detail

template <typename T>
concept Options = std::default_initializable<T> && requires(T options, OptionVisitor& visitor) {
  options.visit(visitor);
};

// Returns the preset that `given` names, or the defaults, with the other keys of `given` applied to
// it. Throws Error naming the option, the value found and the values accepted. For an unknown
// option the error offers the nearest name.
template <Options T>
T read_options(JsonObject given) {
  T options;
  if constexpr (detail::HasPresets<T>) {
    const std::vector<Preset<T>> presets = T::presets();
    std::vector<std::string> names;
    for (const Preset<T>& preset : presets) names.push_back(preset.name);
    options = presets[detail::choose_preset(given, names)].options;
  }
  detail::read_values(given, detail::visit_of(options));
  if constexpr (detail::HasCheck<T>) options.check(given);
  given.reject_unknown();
  return options;
}

// read_options() for options in a Fields; `source` says in errors where they come from.
template <Options T>
T read_options(const Fields& given, const std::string& source) {
  return read_options<T>(JsonObject(given, source));
}

// Returns every option with its value, in the form that a record stores.
template <Options T>
Fields options_fields(T options) {
  return detail::written_values(detail::visit_of(options));
}

template <Options T>
OptionList list_options() {
  T defaults;
  OptionList list{.options = detail::option_infos(detail::visit_of(defaults)), .presets = {}};
  if constexpr (detail::HasPresets<T>)
    for (const Preset<T>& preset : T::presets())
      list.presets.push_back(
          {preset.name, preset.help,
           detail::changes_of(options_fields(defaults), options_fields(preset.options))});
  return list;
}

}  // namespace reprise::reuse
