// Recorded conversations of agents with their tools: texts, and the pauses between them.
//
// A file is JSON Lines of messages {conversation_id, turn, role}; the messages of a conversation
// follow one another. `user` has content and, in a conversation's first message, system and tools;
// `tool` has tool_results of {tool_call_id, content}; `assistant` has content, reasoning_content
// and tool_calls. delay_seconds is the pause before a message, such as the time a tool took [MLPerf
// Endpoints, agentic_coding].
#pragma once

#include <memory>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// Each assistant message is the output of one request, whose prompt is the text of all earlier
// messages, each preceded by its role and a colon. Messages after the last assistant message are
// left out and counted.
SourceInfo agentic_coding_info();
std::unique_ptr<Entries> make_agentic_coding(const SourceOptions& options);

}  // namespace reprise::workloads::serving
