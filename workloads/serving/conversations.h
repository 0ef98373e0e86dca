// Conversations of several turns, many at a time. The prompt of turn t is the whole history,
// answers included, and a new text of the user. Either lengths are drawn and tokens made up, or the
// texts come from a file of ShareGPT's form (sharegpt.h).
//
// In a file people ("human", "user") and models ("gpt", "chatgpt", "bing", "bard", "assistant")
// take turns. Each text is encoded separately; the tokenizer's opening tokens are only before the
// first. Model texts before the first question are skipped. A conversation ends before the first
// turn that lacks a text or an answer, or in which the wrong speaker has the word.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// Turns of a conversation keep their order; the order's seed draws which conversation continues
// next. Of the earlier turns, only the prompts count as shared tokens, since a server generates
// answers other than those in the history.
SourceInfo conversations_info();
std::unique_ptr<Entries> make_conversations(const SourceOptions& options);

}  // namespace reprise::workloads::serving
