#include "app/unit_option.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "core/base/error.h"
#include "core/base/lower_case.h"

namespace reprise::app {
namespace {

struct Unit {
  std::string_view name;  // in lower case
  double factor;
};

constexpr std::array<Unit, 10> kByteUnits = {{{"", 1},
                                              {"b", 1},
                                              {"kb", 1e3},
                                              {"mb", 1e6},
                                              {"gb", 1e9},
                                              {"tb", 1e12},
                                              {"kib", 1024.0},
                                              {"mib", 1048576.0},
                                              {"gib", 1073741824.0},
                                              {"tib", 1099511627776.0}}};
constexpr std::array<Unit, 4> kTimeUnits = {{{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}}};

// Returns -1 if `text` is not a number of 0 or more with one of the units, or is too large.
int64_t parse(std::string_view text, std::span<const Unit> units) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc()) return -1;
  std::string_view rest(end, static_cast<size_t>(text.data() + text.size() - end));
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  const std::string name = lower_case(std::string(rest));
  for (const Unit& unit : units) {
    const double value = number * unit.factor;
    if (unit.name == name && value >= 0 && value < 0x1p62)
      return static_cast<int64_t>(std::llround(value));
  }
  return -1;
}

}  // namespace

int64_t parse_bytes(std::string_view text, std::string_view option) {
  const int64_t bytes = parse(text, kByteUnits);
  if (bytes < 0)
    raise(
        "{}: \"{}\" is no number of bytes: give a number of 0 or more and B, kB, MB, GB, TB, KiB, "
        "MiB, "
        "GiB or TiB, such as 10GiB",
        option, text);
  return bytes;
}

int64_t parse_seconds(std::string_view text, std::string_view option) {
  const int64_t seconds = parse(text, kTimeUnits);
  if (seconds < 0)
    raise(
        "{}: \"{}\" is no span of time: give a number of 0 or more and s, min, h or d, such as 30d",
        option, text);
  return seconds;
}

std::string bytes_text(int64_t bytes) {
  constexpr std::array kNames = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kNames.size(); ++unit) value /= 1024;
  return fmt::format("{:.2f} {}", value, kNames[unit]);
}

std::string span_text(int64_t seconds) {
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{} min", seconds / 60);
  if (seconds < 2 * 86400) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} d", seconds / 86400);
}

}  // namespace reprise::app
