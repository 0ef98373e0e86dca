// Turns conversations into requests. The prompt of each request is the whole history before it and
// the new text of the user.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "workloads/serving/entries.h"
#include "workloads/serving/source_options.h"

namespace reprise::workloads::serving {

// A turn. `user` and `answer` are positions in ConversationScript::tokens, or, if tokens are made
// up, item numbers of RandomItem.
struct ConversationTurn {
  int64_t user = 0, answer = 0;
  int64_t user_tokens = 0, answer_tokens = 0;
};

// All conversations, one after another, in common arrays.
struct ConversationScript {
  std::vector<ConversationTurn> turns;
  std::vector<int64_t> first_turn = {0};  // [conversations + 1]  in `turns`
  std::vector<int32_t> tokens;            // tokens read from a file; empty: made up
  std::vector<double> pauses_s;           // [turns]  from the answer before; empty: not recorded
  RequestSource::Dropped left_out;

  [[nodiscard]] int64_t conversations() const { return std::ssize(first_turn) - 1; }
  [[nodiscard]] int64_t turns_of(int64_t conversation) const {
    const auto c = static_cast<size_t>(conversation);
    return first_turn[c + 1] - first_turn[c];
  }
  // Adds a turn of two texts. Returns false and adds nothing if one of them has no tokens.
  // `begins_prompt`: the user's text begins the prompt, with the tokenizer's opening tokens.
  bool add_turn(const Tokenizer& tokenizer, const std::string& user, const std::string& answer,
                bool begins_prompt);
  // Makes the turns since the last call a conversation. Returns false if there are none.
  bool end_conversation();
};

// Makes one request of each turn. options.under_way conversations (0: all) are under way at once.
// Each request is the next turn of one of these, drawn at random; when a conversation ends, another
// begins. `source` is the source's name, for messages. Throws Error for a prompt of more than
// kMostTokens tokens.
std::unique_ptr<Entries> make_conversation_entries(const char* source, ConversationScript script,
                                                   const SourceOptions& options);

}  // namespace reprise::workloads::serving
