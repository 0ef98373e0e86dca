// Conversations of agents with their tools, as texts with recorded pauses.
//
// A file is JSON Lines of messages {conversation_id, turn, role}, those of a conversation one after
// another. `user` has content and, in the first, system and tools; `tool` has tool_results of
// {tool_call_id, content}; `assistant` has content, reasoning_content and tool_calls. delay_seconds
// is the pause before a message, such as a tool took [MLPerf Endpoints, agentic_coding].
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// Each message of the assistant is what a request generates. Its prompt is the text of all messages
// before it, each after its role and a colon. A message after the last of the assistant is left out
// and counted.
SourceInfo agentic_coding_info();
std::unique_ptr<Entries> make_agentic_coding(const SourceOptions& options);

}  // namespace reprise::workloads::serving
