#include "workloads/longbench/similarity.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

namespace reprise::workloads::longbench {
namespace {

struct Block {
  size_t a = 0, b = 0, size = 0;  // a[a, a + size) == b[b, b + size)
};

struct Range {
  size_t first_a, end_a, first_b, end_b;
};

// The matching blocks of difflib.SequenceMatcher(None, a, b).
class Difflib {
 public:
  Difflib(std::u32string_view a, std::u32string_view b) : a_(a), b_(b) {
    for (size_t j = 0; j < b.size(); ++j) places_[b[j]].push_back(j);
    // If b has this length or more, difflib begins no block with a character that occurs in b more
    // than size / 100 + 1 times.
    constexpr size_t kLong = 200;
    if (b.size() < kLong) return;
    const size_t most = b.size() / 100 + 1;
    std::erase_if(places_, [&](const auto& entry) { return entry.second.size() > most; });
  }

  // Sum of the characters in all blocks.
  size_t matches() {
    size_t sum = 0;
    std::vector<Range> open = {{0, a_.size(), 0, b_.size()}};
    while (!open.empty()) {
      const Range range = open.back();
      open.pop_back();
      const Block block = longest(range);
      if (block.size == 0) continue;
      sum += block.size;
      open.push_back({range.first_a, block.a, range.first_b, block.b});
      open.push_back({block.a + block.size, range.end_a, block.b + block.size, range.end_b});
    }
    return sum;
  }

 private:
  // Returns the longest block of the range. Of equally long blocks, returns the first in a, then
  // the first in b.
  Block longest(const Range& range) {
    Block best{.a = range.first_a, .b = range.first_b};
    std::unordered_map<size_t, size_t> sizes;  // sizes of blocks ending at a[i - 1] and b[j]
    for (size_t i = range.first_a; i < range.end_a; ++i) {
      std::unordered_map<size_t, size_t> next;
      const auto places = places_.find(a_[i]);
      if (places != places_.end())
        for (const size_t j : places->second) {
          if (j < range.first_b || j >= range.end_b) continue;
          const auto before = j == 0 ? sizes.end() : sizes.find(j - 1);
          const size_t size = 1 + (before == sizes.end() ? 0 : before->second);
          next[j] = size;
          if (size > best.size) best = {.a = i + 1 - size, .b = j + 1 - size, .size = size};
        }
      sizes = std::move(next);
    }
    return extended(best, range);
  }

  // Extends a block by equal neighbouring characters, since frequent characters begin no block but
  // may extend one.
  [[nodiscard]] Block extended(Block block, const Range& range) const {
    while (block.a > range.first_a && block.b > range.first_b &&
           a_[block.a - 1] == b_[block.b - 1]) {
      --block.a;
      --block.b;
      ++block.size;
    }
    while (block.a + block.size < range.end_a && block.b + block.size < range.end_b &&
           a_[block.a + block.size] == b_[block.b + block.size])
      ++block.size;
    return block;
  }

  std::u32string_view a_, b_;
  std::unordered_map<char32_t, std::vector<size_t>> places_;  // positions in b, ascending
};

size_t longest_common_subsequence(std::u32string_view a, std::u32string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (const char32_t code : a) {
    size_t diagonal = 0;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = code == b[j - 1] ? diagonal + 1 : std::max(row[j], row[j - 1]);
      diagonal = above;
    }
  }
  return row[b.size()];
}

// Computes in the same order of operations as the Python packages, since the last bit can decide a
// rounding.
double ratio(std::u32string_view a, std::u32string_view b, LineMatcher matcher) {
  const auto characters = static_cast<double>(a.size() + b.size());
  if (matcher == LineMatcher::kDifflib)
    return 2.0 * static_cast<double>(Difflib(a, b).matches()) / characters;
  const size_t edits = a.size() + b.size() - 2 * longest_common_subsequence(a, b);
  return 1.0 - static_cast<double>(edits) / characters;
}

}  // namespace

double line_similarity(std::u32string_view prediction, std::u32string_view answer,
                       LineMatcher matcher) {
  if (prediction == answer) return 1;
  if (prediction.empty() || answer.empty()) return 0;
  return std::nearbyint(100 * ratio(prediction, answer, matcher)) / 100;
}

}  // namespace reprise::workloads::longbench
