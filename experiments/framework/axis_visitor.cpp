#include "experiments/framework/axis_visitor.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"

namespace reprise::experiments::detail {
namespace {

class AxisLister final : public AxisVisitor {
 public:
  explicit AxisLister(std::vector<Axis>& axes) : axes_(axes) {}
  void integer(const AxisText& text, const Integers& accepted, int64_t& value) override {
    REPRISE_CHECK(value >= accepted.low && value <= accepted.high, "axis {} has fallback {}",
                  text.name, value);
    add(text, value, accepted);
  }
  void real(const AxisText& text, const Reals& accepted, double& value) override {
    REPRISE_CHECK(value >= accepted.low && value <= accepted.high, "axis {} has fallback {}",
                  text.name, value);
    add(text, value, accepted);
  }
  void word(const AxisText& text, const Words& accepted, std::string& value) override {
    REPRISE_CHECK(
        std::find(accepted.names.begin(), accepted.names.end(), value) != accepted.names.end(),
        "axis {} has fallback {}", text.name, value);
    add(text, value, accepted);
  }
  void text(const AxisText& text, const AnyText& accepted, std::string& value) override {
    add(text, value, accepted);
  }

 private:
  template <typename Accepted>
  void add(const AxisText& text, const AxisValue& fallback, const Accepted& accepted) {
    const bool is_new = std::none_of(axes_.begin(), axes_.end(),
                                     [&](const Axis& axis) { return axis.name == text.name; });
    REPRISE_CHECK(is_new, "axis {} is shown twice", text.name);
    axes_.push_back({.name = std::string(text.name),
                     .fallback = fallback,
                     .accepted = accepted,
                     .unit = std::string(text.unit),
                     .help = std::string(text.help),
                     .came_later = text.came_later});
  }

  std::vector<Axis>& axes_;
};

class AxisReader final : public AxisVisitor {
 public:
  explicit AxisReader(const AxisValues& values) : values_(values) {}
  void integer(const AxisText& text, const Integers&, int64_t& value) override {
    value = value_of(text).integer();
  }
  void real(const AxisText& text, const Reals&, double& value) override {
    value = value_of(text).real();
  }
  void word(const AxisText& text, const Words&, std::string& value) override {
    value = value_of(text).word();
  }
  void text(const AxisText& text, const AnyText&, std::string& value) override {
    value = value_of(text).word();
  }
  [[nodiscard]] size_t count() const { return count_; }

 private:
  const AxisValue& value_of(const AxisText& text) {
    const auto found = values_.find(std::string(text.name));
    REPRISE_CHECK(found != values_.end(), "there is no value for axis {}", text.name);
    ++count_;
    return found->second;
  }

  const AxisValues& values_;
  size_t count_ = 0;  // number of axes read
};

class AxisWriter final : public AxisVisitor {
 public:
  explicit AxisWriter(AxisValues& values) : values_(values) {}
  void integer(const AxisText& text, const Integers&, int64_t& value) override { add(text, value); }
  void real(const AxisText& text, const Reals&, double& value) override { add(text, value); }
  void word(const AxisText& text, const Words&, std::string& value) override { add(text, value); }
  void text(const AxisText& text, const AnyText&, std::string& value) override { add(text, value); }

 private:
  void add(const AxisText& text, AxisValue value) {
    const bool is_new = values_.emplace(text.name, std::move(value)).second;
    REPRISE_CHECK(is_new, "axis {} is shown twice", text.name);
  }

  AxisValues& values_;
};

}  // namespace

std::vector<Axis> list_axes(const VisitAxes& visit) {
  std::vector<Axis> axes;
  AxisLister lister(axes);
  visit(lister);
  return axes;
}

void read_axes(const AxisValues& values, const VisitAxes& visit) {
  AxisReader reader(values);
  visit(reader);
  REPRISE_CHECK(reader.count() == values.size(), "{} axes were read of {} values", reader.count(),
                values.size());
}

AxisValues axis_values(const VisitAxes& visit) {
  AxisValues values;
  AxisWriter writer(values);
  visit(writer);
  return values;
}

}  // namespace reprise::experiments::detail
