#include "core/sentence/pooling.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/error.h"

namespace reprise::sentence {
namespace {

struct Named {
  PoolingMode mode;
  std::string_view name;
};
constexpr std::array kModes = {Named{PoolingMode::kCls, "cls"},
                               Named{PoolingMode::kMax, "max"},
                               Named{PoolingMode::kMean, "mean"},
                               Named{PoolingMode::kMeanSqrtLength, "mean_sqrt_len_tokens"},
                               Named{PoolingMode::kWeightedMean, "weightedmean"},
                               Named{PoolingMode::kLast, "lasttoken"}};

struct States {
  const float* data;
  int64_t tokens, hidden;
  [[nodiscard]] const float* row(int64_t token) const { return data + token * hidden; }
};

// Sets out to the maximum over t of state_t. As in torch.max, the maximum of a NaN and a number is
// NaN, so that corrupt states give no finite vector.
void largest(const States& states, float* out) {
  std::copy_n(states.row(0), states.hidden, out);
  for (int64_t t = 1; t < states.tokens; ++t) {
    const float* row = states.row(t);
    for (int64_t c = 0; c < states.hidden; ++c)
      if (row[c] > out[c] || std::isnan(row[c])) out[c] = row[c];
  }
}

// Sets out to the sum over t of weight(t) * state_t / divisor.
template <typename Weight>
void sum(const States& states, Weight&& weight, float divisor, float* out) {
  std::fill_n(out, states.hidden, 0.0f);
  for (int64_t t = 0; t < states.tokens; ++t) {
    const float w = weight(t);
    const float* row = states.row(t);
    for (int64_t c = 0; c < states.hidden; ++c) out[c] += w * row[c];
  }
  for (int64_t c = 0; c < states.hidden; ++c) out[c] /= divisor;
}

void pool_one(PoolingMode mode, const States& states, float* out) {
  const auto one = [](int64_t) { return 1.0f; };
  const auto tokens = static_cast<float>(states.tokens);
  switch (mode) {
    case PoolingMode::kCls:
      std::copy_n(states.row(0), states.hidden, out);
      return;
    case PoolingMode::kMax:
      return largest(states, out);
    case PoolingMode::kMean:
      return sum(states, one, tokens, out);
    case PoolingMode::kMeanSqrtLength:
      return sum(states, one, std::sqrt(tokens), out);
    case PoolingMode::kWeightedMean:
      return sum(
          states, [](int64_t t) { return static_cast<float>(t + 1); },
          tokens * (tokens + 1.0f) / 2.0f, out);
    case PoolingMode::kLast:
      std::copy_n(states.row(states.tokens - 1), states.hidden, out);
      return;
  }
}

void normalize(std::span<float> values) {
  double squares = 0.0;
  for (const float value : values) squares += double{value} * value;
  const auto length = static_cast<float>(std::max(std::sqrt(squares), 1e-12));
  for (float& value : values) value /= length;
}

}  // namespace

std::string_view name_of(PoolingMode mode) {
  for (const Named& known : kModes)
    if (known.mode == mode) return known.name;
  return "";
}

PoolingMode parse_pooling(std::string_view name, const std::string& where) {
  if (name == "last") return PoolingMode::kLast;
  std::vector<std::string> names = {"last"};
  for (const Named& known : kModes) {
    if (known.name == name) return known.mode;
    names.emplace_back(known.name);
  }
  raise("{}: {}", where, unknown_name("pooling", name.substr(0, 100), names));
}

model::HiddenOf Pooling::needed() const {
  if (modes == std::vector{PoolingMode::kCls}) return model::HiddenOf::kFirstToken;
  if (modes == std::vector{PoolingMode::kLast}) return model::HiddenOf::kLastToken;
  return model::HiddenOf::kEveryToken;
}

std::string Pooling::text() const {
  std::string text;
  for (const PoolingMode mode : modes) {
    if (!text.empty()) text += " + ";
    text += name_of(mode);
  }
  return text + (normalizes ? ", normalized" : ", not normalized");
}

void pool(const Pooling& pooling, std::span<const float> states, int64_t hidden,
          std::span<float> out) {
  REPRISE_CHECK(!states.empty() && std::ssize(states) % hidden == 0, "{} numbers of {}",
                states.size(), hidden);
  REPRISE_CHECK(std::ssize(out) == pooling.width(hidden), "{} numbers for {}", out.size(),
                pooling.width(hidden));
  const States rows{states.data(), std::ssize(states) / hidden, hidden};
  float* to = out.data();
  for (const PoolingMode mode : pooling.modes) {
    pool_one(mode, rows, to);
    to += hidden;
  }
  if (pooling.normalizes) normalize(out);
}

}  // namespace reprise::sentence
