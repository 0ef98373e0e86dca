// Declares a kind's axes as a struct whose visit() shows each field to a visitor. list_axes() makes
// the list KindInfo::axes from these calls, in their order. read_axes() uses the same calls to
// read a group's values into the struct.
//
//   struct MyAxes {
//     int64_t batch = 1;  // the default is the axis' fallback
//     void visit(AxisVisitor& visitor) {
//       visitor.integer({"batch", "sequences", "sequences that decode together"}, {1, 4096},
//       batch);
//     }
//   };
//
//   .axes = list_axes<MyAxes>()                       in KindInfo
//   const MyAxes axes = group.axes_as<MyAxes>();      where a group is measured
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/framework/axis.h"

namespace reprise::experiments {

struct AxisText {
  std::string_view name;
  std::string_view unit;  // "" if it has none
  std::string_view help;
  bool came_later = false;  // see Axis
};

// Each call names one field and the values it accepts.
class AxisVisitor {
 public:
  virtual ~AxisVisitor() = default;
  virtual void integer(const AxisText& text, const Integers& accepted, int64_t& value) = 0;
  virtual void real(const AxisText& text, const Reals& accepted, double& value) = 0;
  virtual void word(const AxisText& text, const Words& accepted, std::string& value) = 0;
  virtual void text(const AxisText& text, const AnyText& accepted, std::string& value) = 0;
};

template <typename T>
concept KindAxes = std::default_initializable<T> && std::copyable<T> &&
    requires(T axes, AxisVisitor& visitor) {
  axes.visit(visitor);
};

using AxisValues = std::map<std::string, AxisValue>;

namespace detail {

using VisitAxes = std::function<void(AxisVisitor&)>;
[[nodiscard]] std::vector<Axis> list_axes(const VisitAxes& visit);
void read_axes(const AxisValues& values, const VisitAxes& visit);
[[nodiscard]] AxisValues axis_values(const VisitAxes& visit);

template <KindAxes T>
VisitAxes visit_of(T& axes) {
  return [&axes](AxisVisitor& visitor) { axes.visit(visitor); };
}

}  // namespace detail

// Returns the axes in the order in which T::visit() shows them. T's defaults become the fallbacks
// of the axes. Each axis must accept its fallback, and no name may occur twice (CHECK).
template <KindAxes T>
[[nodiscard]] std::vector<Axis> list_axes() {
  T defaults;
  return detail::list_axes(detail::visit_of(defaults));
}

// Returns the struct with these values. `values` must have a value of the right type for every axis
// that T shows, and no values for other axes (CHECK).
template <KindAxes T>
[[nodiscard]] T read_axes(const AxisValues& values) {
  T axes;
  detail::read_axes(values, detail::visit_of(axes));
  return axes;
}

// Returns the struct's values by axis name, in the form that a group holds.
template <KindAxes T>
[[nodiscard]] AxisValues axis_values(T axes) {
  return detail::axis_values(detail::visit_of(axes));
}

}  // namespace reprise::experiments
