#include "core/reuse/options.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/json.h"

namespace reprise::reuse::detail {
namespace {

class OptionReader final : public OptionVisitor {
 public:
  explicit OptionReader(JsonObject& given) : given_(given) {}

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

class OptionWriter final : public OptionVisitor {
 public:
  explicit OptionWriter(Fields& fields) : fields_(fields) {}
  void integer(const OptionText& text, const IntegerRange&, int32_t& value) override {
    fields_[text.name] = value;
  }
  void real(const OptionText& text, const RealRange&, double& value) override {
    fields_[text.name] = value;
  }
  void boolean(const OptionText& text, bool& value) override { fields_[text.name] = value; }
  void word(const OptionText& text, const std::vector<std::string>&, std::string& value) override {
    fields_[text.name] = value;
  }
  void text(const OptionText& text, const char*, std::string& value) override {
    fields_[text.name] = value;
  }

 private:
  Fields& fields_;
};

class OptionLister final : public OptionVisitor {
 public:
  explicit OptionLister(std::vector<OptionInfo>& infos) : infos_(infos) {}
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

void read_values(JsonObject& given, const Visit& visit) {
  OptionReader reader(given);
  visit(reader);
}

Fields written_values(const Visit& visit) {
  Fields fields;
  OptionWriter writer(fields);
  visit(writer);
  return fields;
}

std::vector<OptionInfo> option_infos(const Visit& visit) {
  std::vector<OptionInfo> infos;
  OptionLister lister(infos);
  visit(lister);
  return infos;
}

Fields changes_of(const Fields& from, const Fields& to) {
  Fields changes;
  for (const auto& [name, value] : to)
    if (from.at(name) != value) changes[name] = value;
  return changes;
}

}  // namespace reprise::reuse::detail
