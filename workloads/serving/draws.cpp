#include "workloads/serving/draws.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/error.h"
#include "core/base/random.h"

namespace reprise::workloads::serving {

double draw_unit(uint64_t seed, Draw what, int64_t number) {
  const uint64_t stream = mix_bits(~seed) + static_cast<uint64_t>(what);
  return random_unit(stream, static_cast<uint64_t>(number), 0);
}

// Fisher and Yates' shuffle from the front, so that the first entries do not depend on how many are
// chosen.
std::vector<uint32_t> permuted(int64_t count, int64_t chosen, uint64_t seed, Draw what) {
  REPRISE_CHECK(0 <= chosen && chosen <= count && count <= kMostRequests, "{} of {}", chosen,
                count);
  std::vector<uint32_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0u);
  for (int64_t i = 0; i < chosen; ++i) {
    const auto skip =
        static_cast<int64_t>(draw_unit(seed, what, i) * static_cast<double>(count - i));
    std::swap(numbers[static_cast<size_t>(i)], numbers[static_cast<size_t>(i + skip)]);
  }
  numbers.resize(static_cast<size_t>(chosen));
  return numbers;
}

ZipfChoice::ZipfChoice(int64_t count, double exponent) : count_(count) {
  REPRISE_CHECK(count > 0 && exponent >= 0, "{} choices, exponent {}", count, exponent);
  if (exponent == 0) return;
  double sum = 0;
  for (int64_t k = 1; k <= count; ++k)
    up_to_.push_back(sum += std::pow(static_cast<double>(k), -exponent));
}

int64_t ZipfChoice::choose(double unit) const {
  if (up_to_.empty()) return static_cast<int64_t>(unit * static_cast<double>(count_));
  const auto found = std::upper_bound(up_to_.begin(), up_to_.end(), unit * up_to_.back());
  return std::min<int64_t>(found - up_to_.begin(), count_ - 1);
}

int64_t LengthRange::draw(uint64_t seed, Draw what, int64_t number) const {
  if (low == high) return low;
  return low +
         static_cast<int64_t>(draw_unit(seed, what, number) * static_cast<double>(high - low + 1));
}

void require_given(const char* source, const char* name, int64_t value) {
  if (value == 0) raise("source \"{}\" needs {}: 1 or more", source, name);
}

LengthRange length_range(const char* source, const char* name, int64_t low, int64_t most) {
  require_given(source, name, low);
  if (most != 0 && most < low)
    raise("source \"{}\": {}_most is {}, below {}, which is {}", source, name, most, name, low);
  return {.low = low, .high = most == 0 ? low : most};
}

bool is_too_long(const SourceOptions& options, int64_t prompt_tokens, int64_t output_tokens) {
  const auto is_above = [](int64_t tokens, int64_t most) { return most > 0 && tokens > most; };
  return is_above(prompt_tokens, options.most_prompt_tokens) ||
         is_above(output_tokens, options.most_output_tokens);
}

int64_t divided(int64_t tokens, double divisor) {
  return std::max<int64_t>(1, std::llround(static_cast<double>(tokens) / divisor));
}

void sample_entries(int64_t count, const SourceOptions& options,
                    const std::function<bool(int64_t number)>& take) {
  const int64_t wanted = options.requests == 0 ? count : options.requests;
  int64_t taken = 0;
  for (const uint32_t number : permuted(count, count, options.prompts_seed, Draw::kSample)) {
    if (taken == wanted) return;
    if (take(number)) ++taken;
  }
}

}  // namespace reprise::workloads::serving
