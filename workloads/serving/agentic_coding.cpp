// Recorded conversations of agents with their tools: texts, and the pauses between them.
//
// A file is JSON Lines of messages {conversation_id, turn, role}; the messages of a conversation
// follow one another. `user` has content and, in a conversation's first message, system and tools;
// `tool` has tool_results of {tool_call_id, content}; `assistant` has content, reasoning_content
// and tool_calls. delay_seconds is the pause before a message, such as the time a tool took [MLPerf
// Endpoints, agentic_coding].
//
// Assistant messages in a row are the output of one request. Its prompt is the text of all earlier
// messages, each preceded by its role and a colon, and ends with "assistant:". Messages after the
// last assistant message are left out, and the conversation is counted once (Dropped::by_rule).
#include "workloads/serving/sources.h"

#include <cmath>
#include <unordered_set>
#include <utility>

#include "core/base/error.h"
#include "core/tokenizer/tokenizer.h"
#include "workloads/json_lines.h"
#include "workloads/serving/conversation_entries.h"
#include "workloads/serving/draws.h"

namespace reprise::workloads::serving {
namespace {

// The text that an agent is asked in one request, and the agent's answer.
struct AgentTurn {
  std::string asked, answered;
  double pause_s = 0;
};

struct AgentConversation {
  std::string name;
  int64_t last_turn = 0;
  std::vector<AgentTurn> turns;  // the last may have no answer
};

// A field that may be absent or null.
std::string text_or_empty(JsonObject& object, const char* key) {
  return object.has(key) ? object.string(key) : "";
}

// Returns the text that a message adds to the prompt.
std::string asked_by(JsonObject& message, const std::string& role) {
  std::string text;
  if (message.has("system")) text += fmt::format("system: {}\n", message.string("system"));
  if (message.has("tools")) text += fmt::format("tools: {}\n", json_text(message.at("tools")));
  if (role == "user") return text + fmt::format("user: {}\n", message.string("content"));
  const Values& results = message.list("tool_results");
  for (size_t i = 0; i < results.size(); ++i) {
    JsonObject result(results[i], message.source(), fmt::format("tool_results[{}]", i));
    text += fmt::format("tool: {}\n", result.string("content"));
  }
  return text;
}

std::string answered_by(JsonObject& message) {
  std::string text = text_or_empty(message, "reasoning_content");
  text += text_or_empty(message, "content");
  if (message.has("tool_calls")) text += json_text(message.at("tool_calls"));
  return text;
}

class AgenticReader {
 public:
  explicit AgenticReader(const SourceOptions& options) : options_(options) {}

  ConversationScript read() {
    for_each_line(options_.file, [this](JsonObject& message) {
      message.allow_all();
      take(message);
    });
    SourceOptions sample = options_;
    sample.requests = options_.conversations;
    const std::shared_ptr<const Tokenizer> tokenizer = options_.tokenizer();
    sample_entries(std::ssize(conversations_), sample, [&](int64_t number) {
      return add(conversations_[static_cast<size_t>(number)], *tokenizer);
    });
    return std::move(script_);
  }

 private:
  void take(JsonObject& message) {
    const std::string name = message.string("conversation_id");
    if (conversations_.empty() || conversations_.back().name != name) {
      if (!names_.insert(name).second)
        raise("{}: conversation \"{}\" goes on after another one; put its messages together",
              message.where("conversation_id"), name);
      conversations_.push_back({.name = name});
    }
    AgentConversation& conversation = conversations_.back();
    const int64_t turn = message.integer_in("turn", 1, kMostTurns);
    if (turn <= conversation.last_turn)
      raise("{} is {} after turn {} of the same conversation", message.where("turn"), turn,
            conversation.last_turn);
    conversation.last_turn = turn;
    add_message(message, conversation.turns);
  }

  static void add_message(JsonObject& message, std::vector<AgentTurn>& turns) {
    const std::string role = message.string("role");
    if (role == "assistant") {
      if (turns.empty())
        raise("{} begins with the assistant; a message of the user is expected first",
              message.where("role"));
      turns.back().answered += answered_by(message);
      return;
    }
    if (role != "user" && role != "tool")
      raise("{} is \"{}\", it must be \"user\", \"tool\" or \"assistant\"", message.where("role"),
            role);
    if (turns.empty() || !turns.back().answered.empty()) turns.emplace_back();
    turns.back().asked += asked_by(message, role);
    const double pause_s = message.number("delay_seconds", 0);
    if (!(pause_s >= 0) || !std::isfinite(pause_s))
      raise("{} is {}, it must be from 0 on", message.where("delay_seconds"), pause_s);
    turns.back().pause_s += pause_s;
  }

  bool add(const AgentConversation& conversation, const Tokenizer& tokenizer) {
    for (const AgentTurn& turn : conversation.turns) {
      const bool is_first = &turn == &conversation.turns.front();
      // A line feed ends the previous answer.
      const std::string asked = fmt::format("{}{}assistant:", is_first ? "" : "\n", turn.asked);
      // A declared prefix takes the place of the tokenizer's opening tokens.
      const bool begins_prompt = is_first && options_.shared_tokens == 0;
      if (turn.answered.empty() ||
          !script_.add_turn(tokenizer, asked, turn.answered, begins_prompt)) {
        ++script_.left_out.by_rule;
        break;
      }
      script_.pauses_s.push_back(turn.pause_s);
    }
    return script_.end_conversation();
  }

  const SourceOptions& options_;
  std::vector<AgentConversation> conversations_;
  std::unordered_set<std::string> names_;
  ConversationScript script_;
};

}  // namespace

SourceInfo agentic_coding_info() {
  return {.name = "agentic_coding",
          .summary = "conversations of coding agents with their tools, as texts with pauses",
          .file = FileUse::kNeeded,
          .fields = {"requests", "shared_tokens", "conversations", "under_way",
                     "most_prompt_tokens", "most_output_tokens", "too_long"}};
}

std::unique_ptr<Entries> make_agentic_coding(const SourceOptions& options) {
  return make_conversation_entries("agentic_coding", AgenticReader(options).read(), options);
}

}  // namespace reprise::workloads::serving
