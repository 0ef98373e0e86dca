// The file of question items that the trained models ship: JSON Lines, an item a line, as
// {"id", "task", "preamble", "documents", "question", "answers", "choices"}.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "workloads/questions/item.h"

namespace reprise::workloads::questions {

// The tasks a line may name, in the order of their tables.
std::span<const std::string_view> item_tasks();

// Throws Error with file and line for what cannot be an item, because its parts would not be the
// whole prompt's tokens or no answer could be right:
//   - JSON, keys and types: as for_each_line(); an unknown task; an id that an earlier line has
//   - documents: none, or one that is empty, begins with white space or does not end with a line
//     feed
//   - question: empty, or with white space at either end
//   - answers: none, or one with a line feed or white space around it, which no first line can be
//   - choices: of task "choice" at least two different ones, the first answer among them; of the
//     other tasks null
std::vector<Item> load_items(const std::filesystem::path& path);

}  // namespace reprise::workloads::questions
