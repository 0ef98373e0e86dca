#include "workloads/serving/length_histogram.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/error.h"
#include "core/base/visible.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {
namespace {

class HistogramReader {
 public:
  HistogramReader(std::string_view text, const std::string& where) : rest_(text), where_(where) {}

  bool takes(char c) {
    skip_space();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!takes(c)) fail();
  }
  template <typename T>
  T number(T most) {
    skip_space();
    T value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || !(value >= 0 && value <= most)) fail();
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }
  void expect_end() {
    skip_space();
    if (!rest_.empty()) fail();
  }

 private:
  void skip_space() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }
  [[noreturn]] void fail() const {
    raise("{} must be as {{18: 0.25, 19: 0.75}}, lengths up to {} with their shares; at \"{}\"",
          where_, kMostTokens, visible(rest_.substr(0, 40), ""));
  }

  std::string_view rest_;
  const std::string& where_;
};

}  // namespace

LengthHistogram::LengthHistogram(std::string_view text, const std::string& where) {
  HistogramReader reader(text, where);
  reader.expect('{');
  double sum = 0;
  for (bool ends = reader.takes('}'); !ends; ends = reader.takes('}')) {
    if (!tokens_.empty()) reader.expect(',');
    const int64_t tokens = reader.number(kMostTokens);
    reader.expect(':');
    sum += reader.number(1e300);
    tokens_.push_back(static_cast<int32_t>(tokens));
    up_to_.push_back(sum);
  }
  reader.expect_end();
  if (!empty() && !(sum > 0 && std::isfinite(sum)))
    raise("{}: the shares add up to {}; one of them must be above 0", where, sum);
}

int64_t LengthHistogram::draw(double unit) const {
  REPRISE_CHECK(!empty(), "no lengths");
  const auto found = std::upper_bound(up_to_.begin(), up_to_.end(), unit * up_to_.back());
  return tokens_[std::min(static_cast<size_t>(found - up_to_.begin()), tokens_.size() - 1)];
}

}  // namespace reprise::workloads::serving
