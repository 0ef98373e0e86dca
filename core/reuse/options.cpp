#include "core/reuse/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/value_json.h"

namespace reprise::reuse::detail {
namespace {

class FieldReader final : public OptionVisitor {
 public:
  explicit FieldReader(JsonObject& given) : given_(given) {}

  void integer(const OptionText& text, const IntegerRange& accepted, int32_t& value) override {
    value = static_cast<int32_t>(given_.integer_in(text.name, accepted.low, accepted.high, value));
    if (value % accepted.multiple_of == 0) return;
    const int64_t below = value / accepted.multiple_of * accepted.multiple_of;
    raise("{}: {} is no multiple of {}: try {}", given_.where(text.name), value,
          accepted.multiple_of, std::max(below, accepted.low));
  }
  void real(const OptionText& text, const RealRange& accepted, double& value) override {
    value = given_.number(text.name, value);
    if (!(value >= accepted.low && value <= accepted.high))
      raise("{} is {}, it must be from {} to {}", given_.where(text.name), value, accepted.low,
            accepted.high);
  }
  void boolean(const OptionText& text, bool& value) override {
    value = given_.boolean(text.name, value);
  }
  void word(const OptionText& text, const std::vector<std::string>& accepted,
            std::string& value) override {
    value = given_.string(text.name, value);
    if (std::find(accepted.begin(), accepted.end(), value) == accepted.end())
      raise("{}: {}", given_.where(text.name), unknown_name(text.name, value, accepted));
  }
  void text(const OptionText& text, const char*, std::string& value) override {
    value = given_.string(text.name, value);
  }

 private:
  JsonObject& given_;
};

class FieldWriter final : public OptionVisitor {
 public:
  explicit FieldWriter(Json& json) : json_(json) {}
  void integer(const OptionText& text, const IntegerRange&, int32_t& value) override {
    json_[text.name] = value;
  }
  void real(const OptionText& text, const RealRange&, double& value) override {
    json_[text.name] = value;
  }
  void boolean(const OptionText& text, bool& value) override { json_[text.name] = value; }
  void word(const OptionText& text, const std::vector<std::string>&, std::string& value) override {
    json_[text.name] = value;
  }
  void text(const OptionText& text, const char*, std::string& value) override {
    json_[text.name] = value;
  }

 private:
  Json& json_;
};

class FieldLister final : public OptionVisitor {
 public:
  explicit FieldLister(std::vector<OptionInfo>& infos) : infos_(infos) {}
  void integer(const OptionText& text, const IntegerRange& accepted, int32_t& value) override {
    std::string range = fmt::format("{} to {}", accepted.low, accepted.high);
    if (accepted.multiple_of > 1) range += fmt::format(", a multiple of {}", accepted.multiple_of);
    add(text, std::to_string(value), std::move(range));
  }
  void real(const OptionText& text, const RealRange& accepted, double& value) override {
    add(text, fmt::format("{}", value), fmt::format("{} to {}", accepted.low, accepted.high));
  }
  void boolean(const OptionText& text, bool& value) override {
    add(text, value ? "true" : "false", "true, false");
  }
  void word(const OptionText& text, const std::vector<std::string>& accepted,
            std::string& value) override {
    add(text, value, fmt::format("{}", fmt::join(accepted, ", ")));
  }
  void text(const OptionText& text, const char* accepted, std::string& value) override {
    add(text, value, accepted);
  }

 private:
  void add(const OptionText& text, std::string fallback, std::string accepted) {
    infos_.push_back({text.name, std::move(fallback), std::move(accepted), text.unit, text.help});
  }

  std::vector<OptionInfo>& infos_;
};

}  // namespace

size_t choose_preset(JsonObject& given, std::span<const std::string> names) {
  const std::string wanted = given.string("preset", names.front());
  const auto found = std::find(names.begin(), names.end(), wanted);
  if (found == names.end())
    raise("{}: {}", given.where("preset"), unknown_name("preset", wanted, names));
  return static_cast<size_t>(found - names.begin());
}

void read_fields(JsonObject& given, const Visit& visit) {
  FieldReader reader(given);
  visit(reader);
}

Json fields_json(const Visit& visit) {
  Json json = Json::object();
  FieldWriter writer(json);
  visit(writer);
  return json;
}

std::vector<OptionInfo> field_infos(const Visit& visit) {
  std::vector<OptionInfo> infos;
  FieldLister lister(infos);
  visit(lister);
  return infos;
}

void with_object(const Fields& given, const std::string& source,
                 const std::function<void(const JsonObject&)>& fn) {
  const Json json = json_of(given);
  fn(JsonObject(json, source));
}

Json changes_of(const Json& from, const Json& to) {
  Json changes = Json::object();
  for (const auto& [name, value] : to.items())
    if (from.at(name) != value) changes[name] = value;
  return changes;
}

}  // namespace reprise::reuse::detail
