// Conversations of several turns, many at a time.
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// Turn t asks the whole history, the answers before it included, and a new user's text. Lengths are
// drawn and tokens made up, or both come from a file of ShareGPT's form (see sharegpt.h), in which
// people ("human", "user") and models ("gpt", "chatgpt", "bing", "bard", "assistant") take turns;
// each text is encoded by itself, what the tokenizer puts around a text before the first alone.
// What a model says before the first question is left out, a turn without a text or an answer ends
// its conversation, and so does one out of turn.
// Turns of a conversation come in their order; whose turn is next is drawn by the order's seed.
//
// A server has computed the history's answers as it generated its own, other ones: shared with
// earlier requests are the earlier turns' prompts.
SourceInfo conversations_info();
std::unique_ptr<Entries> make_conversations(const SourceOptions& options);

}  // namespace reprise::workloads::serving
