// The file of question items that comes with the trained models: JSON Lines with one item {"id",
// "task", "preamble", "documents", "question", "answers", "choices"} per line.
//
// load_items() refuses, with file and line:
//   - what for_each_line() refuses, an unknown task, an id that is empty or occurred before
//   - no documents; a document that is empty, begins with white space or lacks a final line feed
//   - a question that is empty or has white space at either end
//   - no answers; an answer that no first line can equal: one that is empty, contains a line
//     feed, or begins or ends with white space
//   - for task "choice", fewer than two choices, equal or empty choices, or a first answer that is
//     not among them; for other tasks, any choices
#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "workloads/questions/item.h"

namespace reprise::workloads::questions {

// The tasks that a line may name.
std::span<const std::string_view> item_tasks();

// Throws Error, with file and line, for what the list at the top of this file names. For accepted
// items, the parts tokenized one by one give the tokens of the whole prompt, and an answer can be
// right.
std::vector<Item> load_items(const std::filesystem::path& path);

}  // namespace reprise::workloads::questions
