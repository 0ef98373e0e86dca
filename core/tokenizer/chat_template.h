// How each family of models writes a conversation as one text: a table with one row per family.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tokenizer/tokenizer.h"

namespace reprise::tokenizer {

enum class Special : uint8_t {
  kNone,
  kBos,
  kEos,
  // The token that the tokenizer itself puts before each text, or nothing. chat_text() and
  // encode_chat() do not support it.
  kOpening
};

// A text, or the special token that `special` names.
struct MarkerPart {
  std::string text;
  Special special = Special::kNone;
};
using Marker = std::vector<MarkerPart>;

// The text that opens and closes a message of one role.
struct ChatTurn {
  Marker open, close;
};

enum class SystemPlace : uint8_t {
  kAnyTurn,  // anywhere in a conversation, like any other turn
  kFirst,    // only as the first message
  // Only as the first message; written inside the turn of the user that follows.
  kInFirstUser,
  kRefused
};

struct ChatTemplate {
  std::string name;
  Marker begin;  // written at the start of every conversation
  ChatTurn system, user, assistant;
  Marker answer;  // opens the turn that is to be generated
  SystemPlace system_place = SystemPlace::kAnyTurn;
  bool alternates = false;  // user, assistant, user, ...; the user begins
  // True: white space at both ends of each message is removed.
  bool strips = false;
  // True: in messages of users and assistants, each "\n\n" becomes "\n".
  bool joins_paragraphs = false;
  // The system text for a conversation that begins without one; "" for none.
  std::string default_system = {};
};

struct ChatMessage {
  std::string role;  // "system", "user" or "assistant"
  std::string content;
};

[[nodiscard]] std::vector<std::string> chat_template_names();
// Returns the family of this name. Throws Error for an unknown name, with the nearest known one.
const ChatTemplate& chat_template(std::string_view name);

// Returns the family whose published template is `jinja`; the default system prompt may differ from
// the published one. Returns nullopt for any other template, such as one that writes dates or
// tools.
std::optional<ChatTemplate> recognized_chat_template(std::string_view jinja);

// Returns the whole conversation and the text that opens the answer. Throws Error for an unknown
// role, and for an order of messages that the family's published template refuses.
Marker write_chat(const ChatTemplate& chosen, std::span<const ChatMessage> messages);

// Returns the conversation as one text, in which special tokens are spelt as in the vocabulary.
// Throws Error if the tokenizer lacks a special token that is needed.
std::string chat_text(const Marker& conversation, const Tokenizer& tokenizer);
// Returns the conversation's tokens. If a message itself spells out a special token, the tokenizer
// recognizes it as it does in any text (tokenizer.json). Throws Error as chat_text() does.
std::vector<int32_t> encode_chat(const Marker& conversation, const Tokenizer& tokenizer);

}  // namespace reprise::tokenizer
