// Scores generated answers of any kind of item.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "workloads/questions/item.h"

namespace reprise::workloads::questions {

// Returns a score from 0 to 1 for each item: LongBench's score (longbench/score.h) for kLongBench
// items, otherwise 1 for a right answer and 0 for a wrong one. `generated` has one whole text per
// item (CHECK). Throws Error naming an item that lacks what its metric needs, and if jieba is
// needed and not installed.
[[nodiscard]] std::vector<double> scores_of(std::span<const Item> items,
                                            std::span<const std::string> generated);

// Throws the Errors that scores_of() would throw for these items, before anything is generated.
void check_scorable(std::span<const Item> items);

}  // namespace reprise::workloads::questions
