// LongEval's retrieval tasks (LongChat, Li et al. 2023): a number out of many lines, and the first
// of many conversations' topics. Official files, cut into the documents they are made of, and items
// of our own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "workloads/questions/item.h"

namespace reprise::workloads::questions {

// The official program's test cases, JSON Lines of either task; which, its keys tell. The parts'
// concatenation is the file's prompt, byte for byte.
//   lines    random_idx [name, place], expected_number, num_lines, correct_line, prompt: a document
//            is a line "line NAME: REGISTER_CONTENT is <NUMBER>". Right is the last number of what
//            the model says, of at most 100 tokens, as the official program has it.
//   topics   test_id, topics, prompt: a document is a conversation. The official program leaves the
//            judging to another model. Here, within at most 50 tokens, right is an answer in which
//            the words of the first topic stand in a row; that is stricter.
// Items are named "lines-1", "topics-1" and so on by their lines. Throws Error with file and line
// for a key that is missing or unknown, and for a prompt that does not hold what the keys say: as
// many lines or topics, in that order, the right one at its place.
std::vector<Item> load_longeval(const std::filesystem::path& path);

struct RetrievalOptions {
  int64_t items = 50;
  int64_t documents = 200;  // lines, or topics, of an item; >= 1
  int64_t turns = 4;        // of a topic's conversation, one of each speaker; >= 1
  uint64_t seed = 1;        // item i is drawn by (seed, i, ...) alone
};

// Lines as LongEval writes them, names and instructions our own. Names are different within an
// item, of two words each; numbers are from 1 to 50,000. Throws Error for more lines than there are
// names, with how many there are.
std::vector<Item> make_line_retrieval(const RetrievalOptions& options);

// Conversations whose topics are different within an item; asked for is the first. Throws Error for
// more topics than there are.
std::vector<Item> make_topic_retrieval(const RetrievalOptions& options);

}  // namespace reprise::workloads::questions
