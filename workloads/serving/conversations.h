// Conversations of several turns, many at a time. The prompt of turn t is the whole history,
// answers included, and a new text of the user. Lengths are drawn and tokens made up, or both come
// from a file of ShareGPT's form (sharegpt.h).
//
// In a file people ("human", "user") and models ("gpt", "chatgpt", "bing", "bard", "assistant")
// take turns. Each text is encoded separately; the tokenizer's opening tokens are only before the
// first. Model texts before the first question are skipped. A conversation ends at a turn without
// text or answer, or out of turn.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// Turns of a conversation keep their order; the order's seed draws which conversation continues
// next. Only the prompts of earlier turns count as shared: a server has generated answers of its
// own, not those in the history.
SourceInfo conversations_info();
std::unique_ptr<Entries> make_conversations(const SourceOptions& options);

}  // namespace reprise::workloads::serving
