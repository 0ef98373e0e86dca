#include "workloads/sentences/split.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "core/base/error.h"
#include "core/base/random.h"

namespace reprise::workloads::sentences {
namespace {

// A hash that is the same on every machine.
uint64_t hash_of(std::string_view text) {
  uint64_t hash = text.size();
  for (const char c : text) hash = mix_bits(hash ^ static_cast<unsigned char>(c));
  return hash;
}

// Union-find: all items of a cluster find the same item, the cluster's first.
class Clusters {
 public:
  explicit Clusters(size_t items) : parents_(items) {
    std::iota(parents_.begin(), parents_.end(), size_t{0});
  }
  size_t first_of(size_t item) {
    while (parents_[item] != item) item = parents_[item] = parents_[parents_[item]];
    return item;
  }
  void join(size_t a, size_t b) {
    const size_t x = first_of(a), y = first_of(b);
    parents_[std::max(x, y)] = std::min(x, y);
  }

 private:
  std::vector<size_t> parents_;
};

struct Cluster {
  uint64_t order = 0;
  std::vector<size_t> items;
};

// Returns the clusters in the order of their first items. Cluster::order is drawn by the seed.
std::vector<Cluster> clusters_of(size_t items, const TextsOf& texts_of, uint64_t seed) {
  Clusters joined(items);
  std::unordered_map<std::string, size_t> seen;
  // Smallest hash of each item's texts, so that the order of the texts does not matter.
  std::vector<uint64_t> hashes(items);
  for (size_t item = 0; item < items; ++item) {
    hashes[item] = UINT64_MAX;
    for (const std::string_view text : texts_of(item)) {
      const std::string key = compared_text(text);
      hashes[item] = std::min(hashes[item], hash_of(key));
      const auto [found, is_new] = seen.emplace(key, item);
      if (!is_new) joined.join(found->second, item);
    }
  }
  std::map<size_t, Cluster> by_first;
  for (size_t item = 0; item < items; ++item) by_first[joined.first_of(item)].items.push_back(item);
  std::vector<Cluster> clusters;
  for (auto& [first, cluster] : by_first) {
    uint64_t least = UINT64_MAX;
    for (const size_t item : cluster.items) least = std::min(least, hashes[item]);
    cluster.order = random_bits(seed, least, 0);
    clusters.push_back(std::move(cluster));
  }
  return clusters;
}

// Returns an empty part for each share.
std::vector<Split> empty_parts(std::span<const SplitShare> shares) {
  std::vector<Split> splits;
  std::set<std::string> names;
  for (const SplitShare& share : shares) {
    REPRISE_CHECK(share.share > 0 && names.insert(share.name).second, "share {} of \"{}\"",
                  share.share, share.name);
    splits.push_back({.name = share.name});
  }
  REPRISE_CHECK(!splits.empty());
  return splits;
}

double total_of(std::span<const SplitShare> shares) {
  double total = 0;
  for (const SplitShare& share : shares) total += share.share;
  return total;
}

// Returns the part that lacks most of its share of `items`.
size_t neediest(const std::vector<Split>& splits, std::span<const SplitShare> shares,
                size_t items) {
  const double total = total_of(shares);
  size_t best = 0;
  double most = 0;
  for (size_t i = 0; i < splits.size(); ++i) {
    const double lacks = shares[i].share / total * static_cast<double>(items) -
                         static_cast<double>(splits[i].items.size());
    if (i == 0 || lacks > most) {
      best = i;
      most = lacks;
    }
  }
  return best;
}

void give(Split& split, const Cluster& cluster) {
  split.items.insert(split.items.end(), cluster.items.begin(), cluster.items.end());
}

// Sorts and describes the parts. Throws Error if one is empty that may not be.
void finish(std::vector<Split>& splits, std::span<const SplitShare> shares, size_t items,
            size_t clusters, const std::string& order) {
  for (size_t i = 0; i < splits.size(); ++i) {
    Split& split = splits[i];
    if (split.items.empty() && !shares[i].may_be_empty)
      raise(
          "{} items are {} clusters without a text in common, too few for {} parts: part \"{}\" "
          "would be empty",
          items, clusters, splits.size(), split.name);
    std::sort(split.items.begin(), split.items.end());
    split.description = fmt::format("{}: {} of {} items, no text of another part, {}", split.name,
                                    split.items.size(), items, order);
  }
}

}  // namespace

std::string compared_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      if (!out.empty() && out.back() != ' ') out += ' ';
    } else {
      out += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

std::vector<Split> split_by_text(size_t items, const TextsOf& texts_of,
                                 std::span<const SplitShare> shares, uint64_t seed) {
  std::vector<Split> splits = empty_parts(shares);
  std::vector<Cluster> clusters = clusters_of(items, texts_of, seed);
  std::stable_sort(clusters.begin(), clusters.end(),
                   [](const Cluster& a, const Cluster& b) { return a.order < b.order; });
  for (const Cluster& cluster : clusters) give(splits[neediest(splits, shares, items)], cluster);
  finish(splits, shares, items, clusters.size(), fmt::format("seed {}", seed));
  return splits;
}

std::vector<Split> split_in_order(size_t items, const TextsOf& texts_of,
                                  std::span<const SplitShare> shares) {
  std::vector<Split> splits = empty_parts(shares);
  const std::vector<Cluster> clusters = clusters_of(items, texts_of, /*seed=*/0);
  size_t part = 0, given = 0;
  double share = shares[0].share;  // sum of the shares of this part and those before it
  for (const Cluster& cluster : clusters) {
    const double wanted = share / total_of(shares) * static_cast<double>(items);
    if (part + 1 < splits.size() && given >= static_cast<size_t>(std::llround(wanted)))
      share += shares[++part].share;
    give(splits[part], cluster);
    given += cluster.items.size();
  }
  finish(splits, shares, items, clusters.size(), "in the order of the data set");
  return splits;
}

}  // namespace reprise::workloads::sentences
