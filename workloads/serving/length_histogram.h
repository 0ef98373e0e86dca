// Lengths drawn in proportion to how often they were recorded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::workloads::serving {

// Of a text as Python writes a dictionary, "{18: 0.25, 19: 0.75}": lengths in tokens with their
// shares, which need not add up to 1.
class LengthHistogram {
 public:
  LengthHistogram() = default;
  // Throws Error beginning with `where`.
  LengthHistogram(std::string_view text, const std::string& where);

  [[nodiscard]] bool empty() const { return tokens_.empty(); }
  // Of a uniform number in [0, 1); not of an empty one.
  [[nodiscard]] int64_t draw(double unit) const;

 private:
  std::vector<int32_t> tokens_;
  std::vector<double> up_to_;  // sums of the shares
};

}  // namespace reprise::workloads::serving
