// Scores of generated answers, whatever their items' way to be judged.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "workloads/questions/item.h"

namespace reprise::workloads::questions {

// A score from 0 to 1 for each item: 1 or 0 where an answer is right or wrong, and LongBench's own
// otherwise (longbench/score.h). `generated` are whole generated texts, one for each item (CHECK).
// All texts of a Chinese dataset go to one Python. Throws Error naming the item that lacks what its
// metric takes, and where jieba is needed and absent.
[[nodiscard]] std::vector<double> scores_of(std::span<const Item> items,
                                            std::span<const std::string> generated);

// Throws the Errors that scores_of() would throw about these items, before anything is generated.
void check_scorable(std::span<const Item> items);

}  // namespace reprise::workloads::questions
