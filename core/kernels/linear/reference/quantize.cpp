#include "core/kernels/linear/reference/quantize.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace reprise::kernels::reference {
namespace {

// NF4's values, from appendix E of QLoRA.
constexpr double kNormalFloat[] = {-1.0,
                                   -0.6961928009986877,
                                   -0.5250730514526367,
                                   -0.39491748809814453,
                                   -0.28444138169288635,
                                   -0.18477343022823334,
                                   -0.09105003625154495,
                                   0.0,
                                   0.07958029955625534,
                                   0.16093020141124725,
                                   0.24611230194568634,
                                   0.33791524171829224,
                                   0.44070982933044434,
                                   0.5626170039176941,
                                   0.7229568362236023,
                                   1.0};

// A group: columns [first, end) of a row, the group's scale s and its offset a.
struct Group {
  int64_t row, first, end;
  double s = 0.0, a = 0.0;
};

int64_t group_length(WeightFormat format, int64_t cols) {
  if (format == WeightFormat::kInt8) return cols;
  if (format != WeightFormat::kInt4) return 64;
  if (cols <= 128) return cols;
  for (const int64_t length : {128, 96, 64, 32})
    if (cols % length == 0) return length;
  return cols;
}

std::vector<double> numbers_of(WeightFormat format) {
  std::vector<double> numbers;
  if (format == WeightFormat::kInt8) {
    for (int c = -127; c <= 127; ++c) numbers.push_back(c);
  } else if (format == WeightFormat::kInt4) {
    for (int c = 0; c <= 15; ++c) numbers.push_back(c);
  } else {
    numbers.assign(std::begin(kNormalFloat), std::end(kNormalFloat));
  }
  return numbers;
}

void set_scale(WeightFormat format, std::span<const float> values, Group& group) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double largest =
      std::max(std::abs(static_cast<double>(*low)), std::abs(static_cast<double>(*high)));
  if (format == WeightFormat::kInt4) {
    group.a = *low;
    group.s = static_cast<float>((static_cast<double>(*high) - group.a) / 15.0);
  } else {
    group.s = format == WeightFormat::kInt8 ? static_cast<float>(largest) / 127.0f : largest;
  }
}

// Replaces scales by the stored mean + t * d. Four groups of each of 64 outputs share a step t.
void round_scales(std::vector<Group>& groups, int64_t rows, int64_t per_row) {
  double sum = 0.0;
  for (const Group& group : groups) sum += group.s;
  const auto mean = static_cast<float>(sum / static_cast<double>(groups.size()));
  for (int64_t first_row = 0; first_row < rows; first_row += 64)
    for (int64_t first = 0; first < per_row; first += 4) {
      std::vector<Group*> block;
      for (int64_t row = first_row; row < std::min(rows, first_row + 64); ++row)
        for (int64_t i = first; i < std::min(per_row, first + 4); ++i)
          block.push_back(&groups[static_cast<size_t>(row * per_row + i)]);
      float largest = 0.0f;
      for (const Group* group : block)
        largest = std::max(largest, std::abs(static_cast<float>(group->s) - mean));
      const double t = largest / 127.0f;
      for (Group* group : block)
        if (t > 0.0) group->s = mean + t * std::nearbyint((group->s - mean) / t);
    }
}

// Writes a group's restored weights to `out`. Codes are chosen with the exact scale, that of
// `chosen`, and restored with the stored scale, that of `held`.
void hold(WeightFormat format, const Group& chosen, const Group& held, std::span<const float> w,
          int64_t cols, Held& out) {
  const std::vector<double> numbers = numbers_of(format);
  for (int64_t col = held.first; col < held.end; ++col) {
    const auto at = static_cast<size_t>(held.row * cols + col);
    const auto distance = [&](double number) {
      return std::abs(chosen.s * number + chosen.a - static_cast<double>(w[at]));
    };
    size_t nearest = 0;
    for (size_t c = 0; c < numbers.size(); ++c)
      if (distance(numbers[c]) < distance(numbers[nearest])) nearest = c;
    const double value = chosen.s * numbers[nearest] + chosen.a;
    size_t other = nearest;  // on the other side of w
    if (value < static_cast<double>(w[at]) && nearest + 1 < numbers.size()) other = nearest + 1;
    if (value > static_cast<double>(w[at]) && nearest > 0) other = nearest - 1;
    out.values[at] = held.s * numbers[nearest] + held.a;
    out.parts[at] = std::abs(held.s * numbers[nearest]) + std::abs(held.a);
    out.half_steps[at] = chosen.s * std::abs(numbers[other] - numbers[nearest]) / 2 +
                         std::abs(chosen.s - held.s) * std::abs(numbers[nearest]);
  }
}

}  // namespace

Held quantized(WeightFormat format, std::span<const float> w, int64_t rows, int64_t cols) {
  REPRISE_CHECK(is_quantized(format), "{}", name_of(format));
  const int64_t length = group_length(format, cols), per_row = (cols + length - 1) / length;
  std::vector<Group> groups;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t first = 0; first < cols; first += length) {
      Group& group = groups.emplace_back(
          Group{.row = row, .first = first, .end = std::min(cols, first + length)});
      set_scale(format,
                w.subspan(static_cast<size_t>(row * cols + first),
                          static_cast<size_t>(group.end - first)),
                group);
    }
  std::vector<Group> held = groups;
  if (format == WeightFormat::kNf4Double) round_scales(held, rows, per_row);
  Held out;
  for (std::vector<double>* values : {&out.values, &out.parts, &out.half_steps})
    values->resize(w.size());
  for (size_t i = 0; i < groups.size(); ++i) hold(format, groups[i], held[i], w, cols, out);
  return out;
}

}  // namespace reprise::kernels::reference
