// Items cut into parts that have no text in common: what a method has stored or learned from must
// not be what it is asked.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::workloads::sentences {

struct SplitShare {
  std::string name;  // "database", "training", "queries"
  double share = 0;  // > 0; of the shares' sum
};

// The texts of an item.
using TextsOf = std::function<std::vector<std::string_view>(size_t item)>;

struct Split {
  std::string name;
  std::vector<size_t> items;  // ascending
  // "database: 480 of 1000 items, no text of another part, seed 1": for a record.
  std::string description;
};

// The text without case (of ASCII's letters) and with each run of white space as one: two texts
// with the same one are one text.
std::string compared_text(std::string_view text);

// Items that have a text in common (one pair's sentence in another's) stay together, with those
// that they have others in common with, and so on: a cluster. Clusters are taken in an order drawn
// by (seed, texts), whatever their place in the list, and each goes where most is missing to the
// share. So parts are disjoint by item and by text, the same for the same texts and seed, and as
// large as the shares say but for the size of one cluster. Throws Error where a part would be
// empty, with how many clusters there are. One or more shares, none of the same name (CHECK).
std::vector<Split> split_by_text(size_t items, const TextsOf& texts_of,
                                 std::span<const SplitShare> shares, uint64_t seed);

}  // namespace reprise::workloads::sentences
