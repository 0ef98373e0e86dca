// Alibaba's traces of Qwen on Bailian: arrival times, lengths, conversations, and block ids that
// show which blocks of prompts are equal.
//
// Files are JSON Lines of {chat_id, parent_chat_id (-1: none), timestamp (s), input_length,
// output_length, type, turn, hash_ids} with an id for each block of 16 tokens, hashed by its tokens
// alone [KVCache Cache in the Wild, ATC'25].
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// Prompts are made as in BlockTrace. Requests whose chains of parents lead to the same first
// request are one conversation, even if that first request is missing from the file.
SourceInfo bailian_info();
std::unique_ptr<Entries> make_bailian(const SourceOptions& options);

}  // namespace reprise::workloads::serving
