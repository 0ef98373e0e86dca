// Draws lengths in proportion to recorded frequencies.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::workloads::serving {

// Lengths in tokens with their shares, as Python writes a dictionary: "{18: 0.25, 19: 0.75}". The
// shares need not add up to 1.
class LengthHistogram {
 public:
  LengthHistogram() = default;
  // Throws Error beginning with `where`.
  LengthHistogram(std::string_view text, const std::string& where);

  [[nodiscard]] bool empty() const { return tokens_.empty(); }
  // Returns the length for a uniform number in [0, 1). The histogram must not be empty.
  [[nodiscard]] int64_t draw(double unit) const;

 private:
  std::vector<int32_t> tokens_;
  std::vector<double> up_to_;  // cumulative shares
};

}  // namespace reprise::workloads::serving
