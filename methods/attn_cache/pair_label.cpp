#include "methods/attn_cache/pair_label.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "core/base/enum_names.h"
#include "core/base/error.h"

namespace reprise::attn_cache {
namespace {

constexpr std::array kNorms = {MapNorm::kL1, MapNorm::kL2};

// Sums the differences of weights and returns their norm.
class Difference {
 public:
  explicit Difference(MapNorm norm) : norm_(norm) {}
  void add(float difference, double times = 1.0) {
    const double d = difference;
    sum_ += times * (norm_ == MapNorm::kL1 ? std::abs(d) : d * d);
  }
  [[nodiscard]] double value() const { return norm_ == MapNorm::kL1 ? sum_ : std::sqrt(sum_); }

 private:
  MapNorm norm_;
  double sum_ = 0.0;
};

// The two maps of a pair. The longer prompt's map comes first.
struct MapPair {
  kernels::MapView longer, shorter;
  std::vector<float> longer_row, shorter_row;

  MapPair(kernels::MapView a, kernels::MapView b) : longer(a), shorter(b) {
    if (longer.rows < shorter.rows) std::swap(longer, shorter);
    longer_row.resize(static_cast<size_t>(longer.keys));
    shorter_row.resize(static_cast<size_t>(shorter.keys));
  }

  // Norm of the difference between row `row` of the shorter map and row `row + shift` of the longer
  // one, over the keys from `first_key` to the last key of the shorter map.
  double of_common_row(int64_t head, int64_t row, int64_t shift, int64_t first_key, MapNorm norm) {
    read_row(shorter, head, row, shorter_row);
    read_row(longer, head, row + shift, longer_row);
    Difference difference(norm);
    for (int64_t k = first_key; k < shorter.keys; ++k)
      difference.add(longer_row[static_cast<size_t>(k + shift)] -
                     (k < 0 ? 0.0f : shorter_row[static_cast<size_t>(k)]));
    return difference.value();
  }

  // Norm of the difference between a row of the longer map and a padding row, which gives
  // `padded_tokens` keys equal weight.
  double of_padded_row(int64_t head, int64_t row, int64_t padded_tokens, MapNorm norm) {
    read_row(longer, head, row, longer_row);
    const float equal = 1.0f / static_cast<float>(padded_tokens);
    Difference difference(norm);
    for (const float weight : longer_row) difference.add(weight - equal);
    difference.add(equal, static_cast<double>(padded_tokens - longer.keys));
    return difference.value();
  }
};

double map_distance(const MapStore& maps, const IndexEntry& a, const IndexEntry& b,
                    const LabelRule& rule) {
  maps.check_layers(a.group, a.layer, a.layer + 1);
  maps.check_layers(b.group, b.layer, b.layer + 1);
  MapPair pair(maps.map(a.group, a.layer), maps.map(b.group, b.layer));
  const bool is_padded = rule.padded_tokens > 0;
  REPRISE_CHECK(!is_padded || pair.longer.rows <= rule.padded_tokens, "{} tokens, padded to {}",
                pair.longer.rows, rule.padded_tokens);
  const int64_t more = pair.longer.rows - pair.shorter.rows;
  const int64_t shift = is_padded || rule.alignment == Alignment::kEnd ? more : 0;
  double sum = 0.0;
  for (int64_t head = 0; head < pair.longer.heads; ++head) {
    for (int64_t row = 0; row < pair.shorter.rows; ++row)
      sum += pair.of_common_row(head, row, shift, is_padded ? -shift : 0, rule.norm);
    for (int64_t row = 0; is_padded && row < more; ++row)
      sum += pair.of_padded_row(head, row, rule.padded_tokens, rule.norm);
  }
  const int64_t rows = is_padded ? rule.padded_tokens : pair.shorter.rows;
  return sum / static_cast<double>(pair.longer.heads * rows);
}

}  // namespace

std::string_view name_of(MapNorm norm) { return norm == MapNorm::kL1 ? "l1" : "l2"; }

std::vector<std::string> map_norm_names() { return names_of_all(kNorms); }

MapNorm parse_map_norm(std::string_view name) {
  return parse_name("norm of attention maps", name, kNorms);
}

double pair_label(const MapStore& maps, const IndexEntry& a, const IndexEntry& b,
                  const LabelRule& rule) {
  const int64_t tokens_a = maps.groups().at(static_cast<size_t>(a.group)).tokens;
  const int64_t tokens_b = maps.groups().at(static_cast<size_t>(b.group)).tokens;
  return rule.map * map_distance(maps, a, b, rule) +
         rule.length * static_cast<double>(std::abs(tokens_a - tokens_b));
}

void label_pairs(const MapStore& maps, std::span<const IndexEntry> entries, const LabelRule& rule,
                 std::span<float> labels, const Context& context) {
  const int64_t n = std::ssize(entries);
  REPRISE_CHECK(std::ssize(labels) == n * n, "{} labels for {} samples", labels.size(), n);
  parallel_for(context, n * n, [&](int64_t pair, int) {
    const int64_t a = pair / n, b = pair % n;
    if (a < b)
      labels[static_cast<size_t>(pair)] = static_cast<float>(
          pair_label(maps, entries[static_cast<size_t>(a)], entries[static_cast<size_t>(b)], rule));
  });
}

}  // namespace reprise::attn_cache
