// LongEval's retrieval tasks (LongChat, Li et al. 2023): find a number among many lines, or the
// first of many conversations' topics. Reads LongEval's files, and makes similar items with texts
// of this program.
//
// Official files are JSON Lines; their keys determine the task.
//   lines    random_idx [name, place], expected_number, num_lines, correct_line, prompt. A document
//            is a line "line NAME: REGISTER_CONTENT is <NUMBER>". The last number of an answer of
//            at most 100 tokens must be right, as in the official program.
//   topics   test_id, topics, prompt. A document is a conversation. The words of the first topic
//            must occur in a row in an answer of at most 50 tokens. That is stricter than the
//            official program, which asks another model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "workloads/questions/item.h"

namespace reprise::workloads::questions {

// Loads official test cases. The concatenation of an item's parts is the file's prompt, byte for
// byte; items are named "lines-1", "topics-1" and so on. Throws Error with file and line for a
// missing or unknown key, and for a prompt that does not match the keys.
std::vector<Item> load_longeval(const std::filesystem::path& path);

struct RetrievalOptions {
  int64_t items = 50;
  int64_t documents = 200;  // lines or topics per item; >= 1
  // Turns per conversation, one of each speaker; >= 1.
  int64_t turns = 4;
  uint64_t seed = 1;  // item i depends only on seed and i
};

// Makes items with lines in LongEval's format, but with names and instructions of this program.
// Names are two words and differ within an item; numbers are from 1 to 50,000. If there
// are more lines than names, throws an Error that states how many names there are.
std::vector<Item> make_line_retrieval(const RetrievalOptions& options);

// Makes conversations whose topics differ within an item; the question asks for the first. Throws
// Error if there are more conversations than topics.
std::vector<Item> make_topic_retrieval(const RetrievalOptions& options);

}  // namespace reprise::workloads::questions
