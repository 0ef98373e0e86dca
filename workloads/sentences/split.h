// Splits items into parts without common texts, so that a method is never asked what it has stored
// or learned.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::workloads::sentences {

struct SplitShare {
  std::string name;           // "database", "training", "queries"
  double share = 0;           // > 0; relative to the sum of all shares
  bool may_be_empty = false;  // true: the part may get no item
};

// Returns the texts of an item.
using TextsOf = std::function<std::vector<std::string_view>(size_t item)>;

struct Split {
  std::string name;
  std::vector<size_t> items;  // ascending
  // For a record, e.g. "database: 480 of 1000 items, no text of another part, seed 1".
  std::string description;
};

// Returns the text in lower case (ASCII) with each run of white space as one space. Texts that are
// equal in this form count as the same text.
std::string compared_text(std::string_view text);

// Splits items 0 to items - 1. Items connected by common texts form a cluster, which stays
// together. Clusters are taken in an order drawn from (seed, texts); each goes to the part that
// lacks most of its share, so part sizes are off by one cluster at most. Throws Error, with the
// number of clusters, if a part that may not be empty would be. `shares` has at least one entry and
// no name twice (CHECK).
std::vector<Split> split_by_text(size_t items, const TextsOf& texts_of,
                                 std::span<const SplitShare> shares, uint64_t seed);

// Like split_by_text(), but nothing is drawn: clusters are taken in the order of their first items.
// They fill the first part up to its share, rounded to whole items, then the next part.
std::vector<Split> split_in_order(size_t items, const TextsOf& texts_of,
                                  std::span<const SplitShare> shares);

}  // namespace reprise::workloads::sentences
